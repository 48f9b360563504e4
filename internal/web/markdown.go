package web

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
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
		commonmark.NewCommonmarkPlugin(
			commonmark.WithLinkEmptyHrefBehavior(commonmark.LinkBehaviorSkip),
			commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip),
			commonmark.WithListEndComment(false), // the page has none
		),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(
			table.WithSkipEmptyRows(true),
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
			table.WithSpanCellBehavior(table.SpanBehaviorMirror),
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
		),
	))
	c.Register.Renderer(render, converter.PriorityEarly)
	// The library escapes what could begin a tag, but no ampersand, so that "&lt;" behind it may be what
	// the page says. With the ampersands escaped before, all of it can be undone.
	escape, unescape := strings.NewReplacer("&", "&amp;"), strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
	c.Register.TextTransformer(func(_ converter.Context, text string) string { return escape.Replace(text) }, converter.PriorityEarly)
	c.Register.TextTransformer(func(_ converter.Context, text string) string {
		if !strings.Contains(text, "&") {
			return text
		}
		return unescape.Replace(text)
	}, converter.PriorityLate)
	raised(n)
	menus(n)
	links(n)
	keepApart(n)
	tables(n)
	escapeCells(n)
	text, err := c.ConvertNode(n)
	if err != nil {
		return "", fmt.Errorf("make Markdown: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// keepApart puts something between bold and italic text that touch: the library would make one of both.
func keepApart(page *html.Node) {
	bold := func(n *html.Node) bool { return n.DataAtom == atom.B || n.DataAtom == atom.Strong }
	italic := func(n *html.Node) bool { return n.DataAtom == atom.I || n.DataAtom == atom.Em }
	walk(page, func(n *html.Node) bool {
		if next := n.NextSibling; next != nil && (bold(n) && italic(next) || italic(n) && bold(next)) {
			n.Parent.InsertBefore(element(atom.Wbr), next)
		}
		return true
	})
}

// render is how this package shows what the library would show otherwise.
func render(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	var text string
	switch n.Data { // the library gives elements new names, and leaves their atoms
	case "h1", "h2", "h3", "h4", "h5", "h6":
		text = heading(ctx, n)
	case "ul", "ol":
		text = list(ctx, n)
	case "br", "pre":
		if !within(n, atom.Td, atom.Th) {
			return converter.RenderTryNext
		}
		text = "<br />" + strings.Repeat("  ", number(n, listDepth, 0))
		if n.Data == "pre" {
			text = codeLines(n)
		}
	default:
		return converter.RenderTryNext
	}
	if _, err := w.WriteString(text); err != nil {
		return converter.RenderTryNext
	}
	return converter.RenderSuccess
}

// heading is a line. The library overwrites what stands before a # at its end, or fails where nothing does.
func heading(ctx converter.Context, n *html.Node) string {
	var b bytes.Buffer
	ctx.RenderChildNodes(ctx, &b, n)
	text := strings.Join(strings.Fields(b.String()), " ")
	if text == "" {
		return ""
	}
	return "\n\n" + strings.Repeat("#", int(n.Data[1]-'0')) + " " + text + "\n\n"
}
