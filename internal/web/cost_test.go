package web

import (
	"strings"
	"testing"
)

// What values and labels would make of a page is counted too: of one that would take seconds only the text is taken.
func TestCostOfWhatIsMade(t *testing.T) {
	value := strings.Repeat("x ", maxValue/2-1)
	quotes, code := strings.Repeat("<blockquote>", 200), "<pre>"+strings.Repeat("x\n", 8000)+"</pre>"
	frames := func(inner string) string { return "<frameset><noframes>" + inner + "</noframes></frameset>" }
	for name, tt := range map[string]struct {
		body  string
		plain bool
	}{
		"tabs":           {"<p id=a>" + strings.Repeat("n", 90) + quotes + strings.Repeat("<div role=tabpanel aria-labelledby=a>x</div>", 2000), true},
		"formulas":       {quotes + strings.Repeat("<math alttext='"+value+"'></math>", 40), true},
		"names":          {quotes + strings.Repeat("<a href=x aria-label='"+value+"'></a>", 40), true},
		"frames":         {frames(quotes + strings.Repeat("<a href=x aria-label='"+value+"'></a>", 40)), true},
		"lines of code":  {strings.Repeat("<ul><li>", 240) + code, true},
		"labels":         {strings.Repeat("<ol start='-2147483648'><li>", 60) + code, true},
		"a few of all":   {"<blockquote><ol start='-2147483648'><li><a href=x aria-label='" + value + "'></a>" + code, false},
		"a long formula": {"<blockquote><math alttext='" + value + value + "'><mi>x</mi></math>", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := pageOf(t, tt.body+"<p>bottom")
			if isPlain := !strings.Contains(p.Text, "> ") && !strings.Contains(p.Text, "- ") && !strings.Contains(p.Text, ". "); isPlain != tt.plain {
				t.Errorf("plain is %v: %.300q", isPlain, p.Text)
			}
			if strings.Contains(p.Text, value+value) {
				t.Error("a value is too long")
			}
		})
	}
}

// A table of rows alone takes as long as it is, and not as its square: that would be a minute and a half.
func TestRowsWithoutCells(t *testing.T) {
	if p := pageOf(t, "<table>"+strings.Repeat("<tr>", maxNodes-1000)+"</table><p>bottom"); p.Text != "bottom" {
		t.Errorf("%.300q", p.Text)
	}
}
