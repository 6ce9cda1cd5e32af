// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/kit/yamltext"
)

// Output is the form of an answer, and the value of the flag -o.
type Output struct {
	Form    string
	allowed []string
}

// String implements pflag.Value.
func (o *Output) String() string { return o.Form }

// Set implements pflag.Value. CheckOutput checks the form, with our error message.
func (o *Output) Set(form string) error { o.Form = form; return nil }

// Type implements pflag.Value.
func (o *Output) Type() string { return "string" }

// AddOutputFlag gives a command the flag -o with the given forms beside the readable one.
func AddOutputFlag(cmd *cobra.Command, forms ...string) *Output {
	o := &Output{allowed: forms}
	cmd.Flags().VarP(o, "output", "o", "output format: "+strings.Join(forms, ", "))
	Complete(cmd, "output", forms...)
	return o
}

// WideForm is the form of tables with all columns, uncut.
const WideForm = "wide"

// AddTableFlag gives a command that shows a table the flag -o.
func AddTableFlag(cmd *cobra.Command, forms ...string) *Output {
	return AddOutputFlag(cmd, append([]string{WideForm}, forms...)...)
}

// Wide reports whether all columns are shown, uncut.
func (o *Output) Wide() bool { return o != nil && o.Form == WideForm }

// CheckOutput rejects a form of -o that the command does not have.
func CheckOutput(cmd *cobra.Command) error {
	flag := cmd.Flag("output")
	if flag == nil || flag.Value.String() == "" {
		return nil
	}
	if o, ok := flag.Value.(*Output); ok && !slices.Contains(o.allowed, o.Form) {
		return UsageErrorf(cmd, "-o %s: want %s", o.Form, strings.Join(o.allowed, " or "))
	}
	return nil
}

// Machine reports whether the answer is for a program.
func (o *Output) Machine() bool { return o != nil && o.Form != "" && o.Form != WideForm }

// Print writes a value as json or yaml.
func (o *Output) Print(w io.Writer, value any) error {
	var data []byte
	var err error
	switch o.Form {
	case "yaml":
		data, err = yamltext.Marshal(value)
	default:
		data, err = PlainJSON(value)
	}
	if err != nil {
		return fmt.Errorf("write the answer as %s: %w", o.Form, err)
	}
	_, err = w.Write(data)
	return err
}

// Age is the time since then, as kubectl shows it.
func Age(now, then time.Time) string {
	if then.IsZero() {
		return ""
	}
	d := max(now.Sub(then), 0)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Size is a number of bytes for people.
func Size(n int64) string {
	const kib = 1 << 10
	switch {
	case n < 10*kib:
		return fmt.Sprintf("%d B", n)
	case n < 10*kib*kib:
		return fmt.Sprintf("%d KiB", n/kib)
	}
	return fmt.Sprintf("%d MiB", n/kib/kib)
}

// FirstLine cuts text to its first line and to a width.
func FirstLine(text string, width int) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if Length(text) > width {
		return CutAt(text, width-1) + "…"
	}
	return text
}
