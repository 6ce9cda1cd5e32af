// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// plainWidth is the width of tables without a terminal.
const plainWidth = 100

// elastic are the columns that are cut if a line is too wide, with their least width. Names, ids
// and addresses are never cut: the next command needs them.
var elastic = map[string]int{"STATUS": 10, "MESSAGE": 7, "WHY": 12, "NOTE": 12, "PATH": 12, "SOURCE": 12, "REVISION": 8, "UID": 5, "TEMPLATE": 8, "REGISTRY": 8}

// spared are columns that are omitted if they are last and do not fit.
var spared = []string{"WHY", "NOTE"}

// Room is the width for lines of w; zero for no limit.
func (c *Console) Room(w io.Writer, out *Output) int {
	if out != nil && out.Wide() {
		return 0
	}
	if screen, ok := w.(*os.File); ok && IsTerminal(screen) {
		if width, _, err := term.GetSize(int(screen.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return plainWidth
}

// Table writes rows; the first has the heads. Columns in wide are only shown with -o wide.
func (c *Console) Table(rows [][]string, out *Output, wide ...string) error {
	if out.Wide() {
		wide = nil
	}
	for _, line := range tableLines(rows, c.Room(c.Out, out), wide) {
		if _, err := fmt.Fprintln(c.Out, line); err != nil {
			return err
		}
	}
	return nil
}

// tableLines puts rows into columns, without those in leftOut.
func tableLines(rows [][]string, room int, leftOut []string) []string {
	rows = without(rows, leftOut)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = OneLine(cell)
		}
	}
	columns, lines := Fit(rows, room), make([]string, 0, len(rows))
	if last := rows[0][len(rows[0])-1]; room > 0 && columns.width() > room && slices.Contains(spared, last) {
		rows = without(rows, []string{last})
		columns = Fit(rows, room)
	}
	for _, row := range rows {
		lines = append(lines, columns.Line(row))
	}
	return lines
}

func without(rows [][]string, heads []string) [][]string {
	kept := make([][]string, len(rows))
	for i, row := range rows {
		for j, cell := range row {
			if !slices.Contains(heads, rows[0][j]) {
				kept[i] = append(kept[i], cell)
			}
		}
	}
	return kept
}

// OneLine turns a text into a cell.
func OneLine(text string) string {
	return shorten.Line(diagnostic.Printable(text))
}

// Columns are the columns of a table.
type Columns struct {
	Names  []string
	widths []int
	// narrowed are the columns that are narrower than their cells.
	narrowed []bool
	// Gap is the space between two columns.
	Gap int
	// room is the width of a line; zero for no limit.
	room int
}

const (
	usualGap = 3 // as kubectl
	// SmallGap is the gap of tables that would be too wide.
	SmallGap = 2
)

// Fit makes columns as wide as their cells, if there is room. The first row has their names.
func Fit(rows [][]string, room int) Columns {
	n := len(rows[0])
	c := Columns{Names: rows[0], widths: make([]int, n), narrowed: make([]bool, n), Gap: usualGap, room: room}
	for _, row := range rows {
		for i, cell := range row {
			c.widths[i] = max(c.widths[i], Length(cell))
		}
	}
	if room > 0 && c.width() > room {
		c.Gap = SmallGap
		for c.width() > room && c.narrow() {
			continue
		}
	}
	return c
}

func (c *Columns) width() int {
	sum := c.Gap * (len(c.widths) - 1)
	for _, w := range c.widths {
		sum += w
	}
	return sum
}

// least is the least width of a column; false if it is never cut.
func (c *Columns) least(i int) (int, bool) {
	least, gives := elastic[c.Names[i]]
	return max(least, len(c.Names[i])), gives
}

// narrow takes a character from the widest elastic column.
func (c *Columns) narrow() bool {
	widest := -1
	for i, w := range c.widths {
		if least, gives := c.least(i); gives && w > least && (widest < 0 || w > c.widths[widest]) {
			widest = i
		}
	}
	if widest < 0 {
		return false
	}
	c.widths[widest]--
	c.narrowed[widest] = true
	return true
}

// Line puts a row's cells into the columns. Cells of later rows may be longer than those that the
// columns were made for; they use the remaining room.
func (c *Columns) Line(row []string) string {
	var b strings.Builder
	left := c.room
	for i, cell := range row {
		last := i == len(row)-1
		if least, gives := c.least(i); gives && c.room > 0 {
			switch {
			case last:
				cell = FirstLine(cell, max(left, least))
			case c.narrowed[i]:
				cell = FirstLine(cell, c.widths[i])
			default:
				cell = FirstLine(cell, max(left-c.behind(row, i), c.widths[i]))
			}
		}
		b.WriteString(cell)
		if !last {
			pad := max(c.widths[i]-Length(cell), 0) + c.Gap
			b.WriteString(strings.Repeat(" ", pad))
			left -= Length(cell) + pad
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// behind is the width of the columns after one.
func (c *Columns) behind(row []string, i int) int {
	sum := 0
	for j := i + 1; j < len(row); j++ {
		sum += c.Gap + max(Length(row[j]), c.widths[j])
	}
	return sum
}
