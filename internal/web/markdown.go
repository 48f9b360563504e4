package web

import (
	"fmt"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// markdown renders a part of a page.
func markdown(n *html.Node) (string, error) {
	// Text that looks like Markdown stays as it is: a script wants the words of the page, and to find
	// out what would need a backslash takes the library a time that grows with the square of the text.
	c := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(commonmark.WithLinkEmptyHrefBehavior(commonmark.LinkBehaviorSkip)),
		table.NewTablePlugin(
			table.WithSkipEmptyRows(true),
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
			table.WithSpanCellBehavior(table.SpanBehaviorMirror),
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
		),
	))
	escapeCells(n)
	text, err := c.ConvertNode(n)
	if err != nil {
		return "", fmt.Errorf("make Markdown: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// escapeCells keeps text from ending the cell that it stands in.
func escapeCells(n *html.Node) {
	walk(n, func(n *html.Node) bool {
		if n.Type == html.TextNode && strings.Contains(n.Data, "|") && within(n, atom.Td, atom.Th) {
			n.Data = strings.ReplaceAll(n.Data, "|", `\|`)
		}
		return true
	})
}
