// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/kit/yamltext"
)

// output is the form that an answer takes.
type output struct {
	form    string
	allowed []string
}

// addOutputFlag gives a command the flag -o with the given forms beside the readable one.
func addOutputFlag(cmd *cobra.Command, forms ...string) *output {
	o := &output{allowed: forms}
	cmd.Flags().StringVarP(&o.form, "output", "o", "", "output format: "+strings.Join(forms, ", "))
	complete(cmd, "output", forms...)
	return o
}

// wideForm is the form of tables with all columns, and nothing cut.
const wideForm = "wide"

// addTableFlag gives a command that shows a table the flag -o.
func addTableFlag(cmd *cobra.Command, forms ...string) *output {
	return addOutputFlag(cmd, append([]string{wideForm}, forms...)...)
}

// wide says whether all columns are wanted, with all that is in them.
func (o *output) wide() bool { return o != nil && o.form == wideForm }

// check refuses forms that the command does not have. A command without the flag has nothing to refuse.
func (o *output) check(cmd *cobra.Command) error {
	if o != nil && o.form != "" && !slices.Contains(o.allowed, o.form) {
		return usageErrorf(cmd, "-o %s: want %s", o.form, strings.Join(o.allowed, " or "))
	}
	return nil
}

// machine says whether the answer is for a program.
func (o *output) machine() bool { return o != nil && o.form != "" && o.form != wideForm }

// print writes a value as json or yaml.
func (o *output) print(w io.Writer, value any) error {
	var data []byte
	var err error
	switch o.form {
	case "yaml":
		data, err = yamltext.Marshal(value)
	default:
		data, err = plainJSON(value)
	}
	if err != nil {
		return fmt.Errorf("write the answer as %s: %w", o.form, err)
	}
	_, err = w.Write(data)
	return err
}

// age tells how long ago something was, as kubectl does.
func age(now, then time.Time) string {
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

// size tells a number of bytes.
func size(n int64) string {
	const kib = 1 << 10
	switch {
	case n < 10*kib:
		return fmt.Sprintf("%d B", n)
	case n < 10*kib*kib:
		return fmt.Sprintf("%d KiB", n/kib)
	}
	return fmt.Sprintf("%d MiB", n/kib/kib)
}

// shortRevision keeps of a revision's digest what people compare.
func shortRevision(revision string) string {
	head, digest, ok := strings.Cut(revision, ":")
	if !ok || len(digest) <= shortDigest {
		return revision
	}
	return head + ":" + digest[:shortDigest]
}

const shortDigest = 10

// firstLine cuts text to its first line and to a width.
func firstLine(text string, width int) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if length(text) > width {
		return cutAt(text, width-1) + "…"
	}
	return text
}
