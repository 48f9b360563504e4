package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// row is one line of the table. Floor is 0 where there is none.
type row struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Product float64 `json:"product"`
	Floor   float64 `json:"floor"`
	Ratio   float64 `json:"ratio"` // product / floor; 0 without a floor
	Goal    goal    `json:"goal"`
}

// goal is what a row is to reach. The zero value is no goal.
type goal struct {
	AtMost, AtLeast float64 // 0 is no bound
	Absolute        bool    // bounds the product itself, not the ratio
}

// The kinds of goals.
func ratioAtMost(x float64) goal  { return goal{AtMost: x} }
func ratioAtLeast(x float64) goal { return goal{AtLeast: x} }
func atMost(x float64) goal       { return goal{AtMost: x, Absolute: true} }

// String is the goal as the table shows it: "≤ 1.5 ×" bounds the ratio, "≤ 45" the product.
func (g goal) String() string {
	unit := " ×"
	if g.Absolute {
		unit = ""
	}
	switch {
	case g.AtMost != 0:
		return fmt.Sprintf("≤ %g%s", g.AtMost, unit)
	case g.AtLeast != 0:
		return fmt.Sprintf("≥ %g%s", g.AtLeast, unit)
	default:
		return ""
	}
}

// MarshalJSON writes the goal as the table shows it.
func (g goal) MarshalJSON() ([]byte, error) { return json.Marshal(g.String()) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (g *goal) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil || text == "" {
		return err
	}
	var sign string
	var bound float64
	n, err := fmt.Sscanf(text, "%s %g", &sign, &bound)
	if n != 2 {
		return fmt.Errorf("goal %q: %w", text, err)
	}
	*g = goal{Absolute: !strings.HasSuffix(text, "×")}
	if sign == "≤" {
		g.AtMost = bound
	} else {
		g.AtLeast = bound
	}
	return nil
}

// newRow makes a row, with a floor of 0 for none.
func newRow(name, unit string, product, floor float64, g goal) row {
	r := row{Name: name, Unit: unit, Product: product, Floor: floor, Goal: g}
	if floor != 0 {
		r.Ratio = product / floor
	}
	return r
}

// met reports whether the row reaches its goal.
func (r row) met() bool {
	value := r.Ratio
	if r.Goal.Absolute {
		value = r.Product
	}
	return (r.Goal.AtMost == 0 || value <= r.Goal.AtMost) && (r.Goal.AtLeast == 0 || value >= r.Goal.AtLeast)
}

func printTable(out io.Writer, s setup, rows []row) {
	fmt.Fprintf(out, "%s, %d processors, %s, %s\n\n",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.Version(), s.python)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tunit\tproduct\tfloor\tratio\tgoal\t")
	for _, r := range rows {
		floor, ratio := "-", "-"
		if r.Floor != 0 {
			floor, ratio = number(r.Floor), fmt.Sprintf("%.2f", r.Ratio)
		}
		miss := ""
		if !r.met() {
			miss = "missed"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Unit, number(r.Product), floor, ratio, r.Goal, miss)
	}
	w.Flush() //nolint:errcheck // the table goes to a person
}

// number prints three digits.
func number(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}

func writeJSON(name string, rows []row) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	e := json.NewEncoder(f)
	e.SetEscapeHTML(false)
	for _, r := range rows {
		if err := e.Encode(r); err != nil {
			f.Close()
			return err
		}
	}
	return f.Close()
}

// sample measures some operations and returns the time of each.
type sample func() ([]time.Duration, error)

// interleave runs product and floor in turns and returns the medians of the times of one operation.
func interleave(blocks int, product, floor sample) (p, f time.Duration, err error) {
	medians, err := inTurns(blocks, product, floor)
	if err != nil {
		return 0, 0, err
	}
	return medians[0], medians[1], nil
}

// inTurns runs samples in turns, a block each, and returns the median of each. What disturbs the machine
// for longer than a block disturbs all.
func inTurns(blocks int, samples ...sample) ([]time.Duration, error) {
	times := make([][]time.Duration, len(samples))
	for range blocks {
		for i, take := range samples {
			more, err := take()
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], more...)
		}
	}
	var medians []time.Duration
	for _, list := range times {
		medians = append(medians, median(list))
	}
	return medians, nil
}

// median returns the middle of values, which must not be empty.
func median[T interface{ ~int64 | ~float64 }](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// ms turns a time into the number of a row.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
