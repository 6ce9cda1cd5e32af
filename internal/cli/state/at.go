// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// then is the state of a stack at a time.
type then struct {
	Stack   string         `json:"stack"`
	Version *state.Version `json:"version,omitempty"`
	// Revision is that of the source of the run that wrote it, as far as it is known.
	Revision  string              `json:"revision,omitempty"`
	Resources int                 `json:"resources"`
	Addresses []run.StateResource `json:"addresses,omitempty"`
	// Problem says why it is not known.
	Problem string `json:"problem,omitempty"`

	file *statefile.File
	// none is true if the stack had no state, false if it may have had one that is not stored.
	none bool
}

func newStateAtCommand(a *session.App) *cobra.Command {
	var everywhere bool
	cmd := &cobra.Command{
		Use:   "at TIME [NAME]",
		Short: "Show a state, or those of all stacks, as of a time",
		Long: `Show which version of its state a stack had at a time, with its resources; or, without NAME, the versions of all stacks of the
namespace, or of all namespaces with -A. TIME is RFC 3339 (2026-01-31T15:04:05Z), a date or "2026-01-31 15:04" in local time, or a
duration before now, such as 90m or 3d. Stacks that were deleted since then are not listed.

To bring a stack back to what it was, plan the revision of the source that it had: "yuba preview" of that commit, then change the
source. "yuba state rollback" only changes what is recorded.`,
		Example: "  yuba state at 2h vpc\n  yuba state at '2026-01-31 15:04' -A\n  yuba state at 3d vpc -o json",
		Args:    ui.Arguments(1, 2), ValidArgsFunction: second(a.StackNames(false)),
	}
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "show the stacks of all namespaces")
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		at, err := parseTime(args[0], time.Now())
		if err != nil {
			return ui.UsageErrorf(cmd, "%w", err)
		}
		if len(args) == 2 {
			return showThen(cmd, s, args[1], at, out)
		}
		keys, err := stacksOf(cmd.Context(), s, nil, everywhere)
		if err != nil {
			return err
		}
		list := eachAt(cmd.Context(), s, keys, at)
		l := listing.List{None: "There are no stacks.", Answer: list, Rows: [][]string{{"STACK", "RESOURCES", "SERIAL", "WRITTEN", "REVISION", "RUN", "VERSION"}}}
		for i := range list {
			l.Add(list[i].Stack, list[i].row()...)
		}
		return l.Show(s.Console, out)
	})
	return cmd
}

func (t *then) row() []string {
	if t.Version == nil {
		return []string{t.Stack, "-", "-", "-", "-", "-", cmp.Or(t.Problem, "no state yet")}
	}
	return []string{t.Stack, fmt.Sprint(t.Resources), fmt.Sprint(t.Version.Serial), t.Version.Time.Format(time.RFC3339), cmp.Or(t.Revision, "-"), cmp.Or(t.Version.RunID, "-"), t.Version.ID}
}

// second makes a completion of the first argument one of the second.
func second(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return []cobra.Completion{"1h", "1d", "7d"}, cobra.ShellCompDirectiveNoFileComp
		}
		return f(cmd, args[1:], word)
	}
}

func showThen(cmd *cobra.Command, s *session.Session, name string, at time.Time, out *ui.Output) error {
	ctx := cmd.Context()
	key, err := s.Stack(cmd, name)
	if err != nil {
		return err
	}
	t, err := stateAt(ctx, s, key, at)
	if err != nil {
		return s.StackError("read the state of", key, err)
	}
	if t.Version == nil {
		return ui.Exitf(ui.ExitNotFound, "%s: %s at %s. List the versions:\n    yuba state history %s", key, cmp.Or(t.Problem, "no version of its state was stored yet"), at.Format(time.RFC3339), s.Call(key))
	}
	if out.Machine() {
		return out.Print(s.Out, t)
	}
	v := t.Version
	s.News("Version %s (serial %d) of %s, written at %s by %s%s.", v.ID, v.Serial, key, v.Time.Format(time.RFC3339), cmp.Or(v.RunID, v.Reason, "another program"), revisionText(t.Revision))
	if t.Problem != "" {
		return ui.Exitf(ui.ExitFailure, "%s: %s", key, t.Problem)
	}
	return listResources(s, listed(t.file.Resources), out)
}

func revisionText(revision string) string {
	if revision == "" {
		return ""
	}
	return " from revision " + revision
}

// stateAt reads the newest version that is not newer than a time.
func stateAt(ctx context.Context, s *session.Session, key types.NamespacedName, at time.Time) (*then, error) {
	t := &then{Stack: key.String()}
	list, err := s.Content.Versions(ctx, key.Namespace, key.Name)
	if err != nil {
		return nil, err
	}
	if t.find(&list, at); t.Version == nil {
		return t, nil
	}
	data, err := s.Content.State(ctx, key.Namespace, key.Name, t.Version.ID)
	if err == nil {
		t.file, err = statefile.Parse(data)
	}
	switch {
	case err != nil:
		t.Problem, t.file = "this version cannot be read: "+err.Error(), &statefile.File{}
	case t.file.Encrypted:
		t.Problem = "OpenTofu encrypted this version, and only tofu can read it"
	}
	t.Resources = len(t.file.Resources)
	t.Addresses = listed(t.file.Resources)
	if t.Version.RunID != "" {
		if rec, err := s.Content.Run(ctx, key.Namespace, key.Name, t.Version.RunID); err == nil {
			t.Revision = rec.Spec.Artifact.Revision
		}
	}
	return t, nil
}

// find sets the newest version that is not newer than a time. If there is none, an older one may have
// been pruned, or the stack adopted a state: only a first serial proves that there was no state.
func (t *then) find(list *content.VersionList, at time.Time) {
	for i := range list.Items {
		if v := &list.Items[i]; !v.Time.After(at) {
			t.Version = v
			return
		}
	}
	if len(list.Items) == 0 {
		t.none = true
		return
	}
	oldest := list.Items[len(list.Items)-1]
	t.Problem = "its oldest stored version is newer, of " + oldest.Time.Format(time.RFC3339)
	if list.Truncated {
		t.Problem = fmt.Sprintf("the server lists only its newest %d versions, and all are newer: the oldest of them is of %s", len(list.Items), oldest.Time.Format(time.RFC3339))
		return
	}
	t.none = oldest.Serial == firstSerial
}

// firstSerial is the serial of the first state that tofu writes.
const firstSerial = 1

// stacksOf are the named stacks, or all of a namespace or of all.
func stacksOf(ctx context.Context, s *session.Session, named []types.NamespacedName, everywhere bool) ([]types.NamespacedName, error) {
	if len(named) > 0 {
		return named, nil
	}
	var list infrav1.TerraformList
	namespace := s.Namespace
	if everywhere {
		namespace = ""
	}
	if err := s.Objects.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the stacks: %w", err)
	}
	var keys []types.NamespacedName
	for i := range list.Items {
		keys = append(keys, session.KeyOf(&list.Items[i]))
	}
	return keys, nil
}

// eachAt reads many states. One that cannot be read is in the list with its problem.
func eachAt(ctx context.Context, s *session.Session, keys []types.NamespacedName, at time.Time) []then {
	list := make([]then, 0, len(keys))
	for _, key := range keys {
		t, err := stateAt(ctx, s, key, at)
		if err != nil {
			t = &then{Stack: key.String(), Problem: err.Error()}
		}
		list = append(list, *t)
	}
	return list
}

// parseTime parses a time, or a duration before now.
func parseTime(text string, now time.Time) (time.Time, error) {
	days, isDays := strings.CutSuffix(text, "d")
	if isDays {
		text = days + "h"
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		if isDays {
			d *= 24
		}
		return now.Add(-d), nil
	}
	if isDays {
		text = days + "d"
	}
	for _, form := range []string{time.RFC3339Nano, time.RFC3339} {
		if at, err := time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	for _, form := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: write 2026-01-31T15:04:05Z, \"2026-01-31 15:04\", 2026-01-31, or a duration before now such as 90m or 3d", text)
}

// differences are what changed in a stack between two times.
type differences struct {
	Stack string `json:"stack"`
	// From and To are the ids of the versions; empty for none.
	From    string    `json:"from,omitempty"`
	To      string    `json:"to,omitempty"`
	Added   []string  `json:"added,omitempty"`
	Removed []string  `json:"removed,omitempty"`
	Changed []changes `json:"changed,omitempty"`
	Problem string    `json:"problem,omitempty"`
}

// changes are the attributes of a resource that differ. They have no values.
type changes struct {
	Address    string   `json:"address"`
	Attributes []string `json:"attributes,omitempty"`
}

func newStateDiffCommand(a *session.App) *cobra.Command {
	var everywhere bool
	cmd := &cobra.Command{
		Use:   "diff FROM TO [NAME]...",
		Short: "Compare states between two times",
		Long: `Compare the states that stacks had at two times: resources that were added, removed or changed, with the names of the attributes
that differ. Without NAME, all stacks of the namespace are compared, or of all namespaces with -A; those without differences are not
listed. Times are as in "yuba state at"; "now" is the present.`,
		Example: "  yuba state diff 1d now vpc\n  yuba state diff 2026-01-30 2026-01-31 -A\n  yuba state diff 7d 1d -o json",
		Args:    ui.Arguments(2, -1), ValidArgsFunction: second(second(a.StackNames(true))),
	}
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "compare the stacks of all namespaces")
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		var times [2]time.Time
		for i := range times {
			var err error
			if times[i] = time.Now(); args[i] == "now" {
				continue
			}
			if times[i], err = parseTime(args[i], time.Now()); err != nil {
				return ui.UsageErrorf(cmd, "%w", err)
			}
		}
		var named []types.NamespacedName
		for _, name := range args[2:] {
			key, err := s.Stack(cmd, name)
			if err != nil {
				return err
			}
			named = append(named, key)
		}
		keys, err := stacksOf(cmd.Context(), s, named, everywhere)
		if err != nil {
			return err
		}
		list := []differences{}
		for _, key := range keys {
			d := differenceOf(cmd.Context(), s, key, times[0], times[1])
			if d.Problem != "" || len(d.Added)+len(d.Removed)+len(d.Changed) > 0 {
				list = append(list, d)
			}
		}
		if out.Machine() {
			return out.Print(s.Out, list)
		}
		showDifferences(s, list)
		return nil
	})
	return cmd
}

func differenceOf(ctx context.Context, s *session.Session, key types.NamespacedName, from, to time.Time) differences {
	d := differences{Stack: key.String()}
	var files [2]*statefile.File
	for i, at := range []time.Time{from, to} {
		t, err := stateAt(ctx, s, key, at)
		if err != nil {
			d.Problem = err.Error()
			return d
		}
		if files[i], d.Problem = t.compared(); d.Problem != "" {
			return d
		}
		if t.Version != nil {
			*[]*string{&d.From, &d.To}[i] = t.Version.ID
		}
	}
	d.compare(files[0], files[1])
	return d
}

// compared is the state to compare. One that is not known has a problem, and is not an empty one.
func (t *then) compared() (*statefile.File, string) {
	if t.none {
		return &statefile.File{}, ""
	}
	return t.file, t.Problem
}

func (d *differences) compare(from, to *statefile.File) {
	had, has := byAddress(from), byAddress(to)
	for _, address := range slices.Sorted(maps.Keys(had)) {
		other, stays := has[address]
		switch r := had[address]; {
		case !stays:
			d.Removed = append(d.Removed, address)
		case !bytes.Equal(r.Attributes, other.Attributes) || r.Tainted != other.Tainted:
			d.Changed = append(d.Changed, changes{address, differing(r, other)})
		}
	}
	for _, address := range slices.Sorted(maps.Keys(has)) {
		if _, known := had[address]; !known {
			d.Added = append(d.Added, address)
		}
	}
}

// differing are the names of the attributes that differ.
func differing(a, b statefile.Resource) (names []string) {
	var was, is map[string]json.RawMessage
	if json.Unmarshal(a.Attributes, &was) != nil || json.Unmarshal(b.Attributes, &is) != nil {
		return nil
	}
	for name, value := range was {
		if !bytes.Equal(value, is[name]) {
			names = append(names, name)
		}
	}
	for name := range is {
		if _, known := was[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// maxShownDifferences limits the lines of a stack; -o json has all.
const maxShownDifferences = 50

func showDifferences(s *session.Session, list []differences) {
	if len(list) == 0 {
		s.News("The states are the same at both times.")
	}
	for i := range list {
		d := &list[i]
		fmt.Fprintf(s.Out, "%s: %d added, %d changed, %d removed\n", d.Stack, len(d.Added), len(d.Changed), len(d.Removed))
		var lines []string
		if d.Problem != "" {
			lines = append(lines, d.Problem)
		}
		for _, a := range d.Added {
			lines = append(lines, "+ "+a)
		}
		for _, c := range d.Changed {
			lines = append(lines, strings.TrimSuffix("~ "+c.Address+": "+strings.Join(c.Attributes, ", "), ": "))
		}
		for _, a := range d.Removed {
			lines = append(lines, "- "+a)
		}
		for n, line := range lines {
			if n == maxShownDifferences {
				fmt.Fprintf(s.Out, "  and %d more\n", len(lines)-n)
				break
			}
			fmt.Fprintf(s.Out, "  %s\n", line)
		}
	}
}
