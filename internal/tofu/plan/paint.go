// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

// SensitiveMark replaces a sensitive value.
const SensitiveMark = "(sensitive value)"

// unknownMark replaces a value that is unknown before the apply.
const unknownMark = "(known after apply)"

const (
	boldCode   = "\x1b[1m"
	redCode    = "\x1b[31m"
	greenCode  = "\x1b[32m"
	yellowCode = "\x1b[33m"
	cyan       = "\x1b[36m"
	dimCode    = "\x1b[90m"
	resetCode  = "\x1b[0m"
)

// painter adds ANSI colours if it is true.
type painter bool

func (p painter) paint(s, code string) string {
	if !p || s == "" || code == "" {
		return s
	}
	return code + s + resetCode
}

// symbol returns the coloured sign of an action, three characters wide.
func (p painter) symbol(a Action) string {
	switch a {
	case Create:
		return "  " + p.paint("+", greenCode)
	case Update:
		return "  " + p.paint("~", yellowCode)
	case Delete:
		return "  " + p.paint("-", redCode)
	case Replace:
		return p.paint("-", redCode) + "/" + p.paint("+", greenCode)
	case Read:
		return " " + p.paint("<=", cyan)
	case Forget:
		return "  " + p.paint(".", redCode)
	case Import:
		return "  " + p.paint("&", cyan)
	case Move:
		return "  " + p.paint(">", cyan)
	}
	return "   "
}
