// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/shell"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

type changeFlags struct {
	yes, dryRun bool
	out         *ui.Output
}

func addChangeFlags(cmd *cobra.Command) *changeFlags {
	f := &changeFlags{}
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show the change without making it")
	f.out = ui.AddOutputFlag(cmd, "json", "yaml")
	return f
}

func newStateMoveCommand(a *session.App) *cobra.Command {
	return changeCommand(a, run.StateMove, &cobra.Command{
		Use:   "mv NAME FROM TO",
		Short: "Move a resource to another address in the state",
		Long: `Move a resource, or a module, to another address in the state, so that tofu does not destroy and recreate it when the
program renames it. The command shows the change first, and asks. The change is a run of its own, under the state's lock; it
also works while the stack is suspended. Suspend the stack first if the program has not been changed yet.`,
		Example: "  yuba state mv vpc aws_vpc.main aws_vpc.this\n  yuba state mv vpc module.subnets 'module.subnets[\"a\"]' --dry-run",
		Args:    ui.Arguments(3, 3), ValidArgsFunction: a.StackAnd(stateAddresses, false),
	})
}

func newStateRemoveCommand(a *session.App) *cobra.Command {
	return changeCommand(a, run.StateRemove, &cobra.Command{
		Use:   "rm NAME ADDRESS...",
		Short: "Remove resources from the state without destroying them",
		Long: `Remove resources, or modules, from the state without destroying them: they stay, unmanaged. The command shows the change
first, and asks. While the program still declares them, the next plan creates them again: remove them from the program first,
or suspend the stack.`,
		Example: "  yuba state rm vpc aws_vpc.main\n  yuba state rm vpc module.old --yes -o json",
		Args:    ui.Arguments(2, -1), ValidArgsFunction: a.StackAnd(stateAddresses, true),
	})
}

func newStateImportCommand(a *session.App) *cobra.Command {
	return changeCommand(a, run.StateImport, &cobra.Command{
		Use:   "import NAME ADDRESS ID",
		Short: "Import an existing resource into the state",
		Long: `Import an existing resource into the state: the program declares a resource at the address, and the provider knows
the existing one by the id. The import uses the stack's variables and environment. The command shows the change first, and asks.`,
		Example: "  yuba state import vpc aws_vpc.main vpc-0a1b2c3d",
		Args:    ui.Arguments(3, 3), ValidArgsFunction: a.StackNames(false),
	})
}

// changeCommand makes cmd change the state with a verb of tofu.
func changeCommand(a *session.App, verb run.StateVerb, cmd *cobra.Command) *cobra.Command {
	flags := addChangeFlags(cmd)
	cmd.RunE = a.OnName(func(ctx context.Context, s *session.Session, key types.NamespacedName, rest []string) error {
		change := run.StateChange{Verb: verb, Args: rest}
		if err := change.Check(); err != nil {
			return ui.UsageErrorf(cmd, "%w", err)
		}
		return changeState(ctx, s, key, change, flags)
	})
	return cmd
}

// changeState previews a change, asks, and makes it.
func changeState(ctx context.Context, s *session.Session, key types.NamespacedName, change run.StateChange, flags *changeFlags) error {
	if flags.yes && !flags.dryRun {
		return doChange(ctx, s, key, change, "", flags)
	}
	preview := change
	preview.Preview = true
	rec, err := carryChange(ctx, s, key, preview, "")
	switch {
	case err != nil:
		return err
	case flags.dryRun:
		return tellChange(s, rec, flags.out)
	}
	fmt.Fprintln(previews(s, flags.out), rec.Result.Text)
	warnOfNextReconciliation(ctx, s, key)
	if err := s.MustConfirm(false, fmt.Sprintf("The state of %s is changed: state %s.", key, change.Verb)); err != nil {
		return err
	}
	expect := ""
	if rec.StateMark != nil {
		expect = rec.StateMark.Digest
	}
	return doChange(ctx, s, key, change, expect, flags)
}

// previews is the stream for previews: standard output, unless the answer there is for a program.
func previews(s *session.Session, out *ui.Output) io.Writer {
	if out.Machine() {
		return s.Err
	}
	return s.Out
}

func doChange(ctx context.Context, s *session.Session, key types.NamespacedName, change run.StateChange, expect string, flags *changeFlags) error {
	rec, err := carryChange(ctx, s, key, change, expect)
	if err != nil {
		return err
	}
	if err := tellChange(s, rec, flags.out); err != nil {
		return err
	}
	undo, how := "yuba state undo "+s.Call(key), ", or undo the change"
	if rec.Spec.Backend.Kind == run.BackendOwn {
		if undo = inverse(s.Call(key), change); undo == "" {
			how = ""
		}
	}
	s.News("Compare the program and the real infrastructure with the new state%s:\n    yuba replan %s --wait%s", how, s.Call(key), indented(undo))
	return nil
}

func indented(command string) string {
	if command == "" {
		return ""
	}
	return "\n    " + command
}

// inverse is the command that takes a change back in a custom backend, of whose states Yuba stores no versions. It is
// empty if no command can.
func inverse(stack string, c run.StateChange) string {
	var quoted []string
	for _, arg := range c.Args {
		quoted = append(quoted, shell.Quote(arg))
	}
	switch c.Verb {
	case run.StateMove, run.StateReplaceProvider:
		return fmt.Sprintf("yuba state %s %s %s %s", c.Verb, stack, quoted[1], quoted[0])
	case run.StateTaint:
		return fmt.Sprintf("yuba state untaint %s %s", stack, quoted[0])
	case run.StateUntaint:
		return fmt.Sprintf("yuba state taint %s %s", stack, quoted[0])
	case run.StateImport:
		return fmt.Sprintf("yuba state rm %s %s", stack, quoted[0])
	case run.StateRemove:
		if len(c.Args) == 1 {
			return fmt.Sprintf("yuba state import %s %s ID", stack, quoted[0])
		}
		return fmt.Sprintf("yuba state import %s ADDRESS ID", stack)
	}
	return ""
}

// storesVersions refuses commands that need versions of the state.
func storesVersions(s *session.Session, t *infrav1.Terraform, action string) error {
	if !t.KeepsOwnState() {
		return nil
	}
	key := session.KeyOf(t)
	return ui.Exitf(ui.ExitRefused, "%s %s: it keeps its state in a custom backend, and Yuba stores no versions of it. Use the backend's own versions, or take a change back "+
		"with the opposite command, such as:\n    yuba state mv %s TO FROM\n    yuba state untaint %s ADDRESS", action, key, s.Call(key), s.Call(key))
}

// carryChange starts the run of a change and waits for its end.
func carryChange(ctx context.Context, s *session.Session, key types.NamespacedName, change run.StateChange, expect string) (run.Record, error) {
	action := "state " + string(change.Verb) + " of"
	if change.Verb.Inspects() {
		action = strings.Join(change.Verb.Words(), " ") + " of"
	}
	rec, err := s.Content.Change(ctx, key.Namespace, key.Name, change, expect)
	if err != nil {
		return rec, s.StackError(action, key, err)
	}
	return ended(ctx, s, action, key, rec)
}

// ended waits for the end of a run, which must succeed.
func ended(ctx context.Context, s *session.Session, action string, key types.NamespacedName, rec run.Record) (run.Record, error) {
	id := rec.Spec.ID
	if rec.Result == nil {
		var err error
		if rec, err = s.AwaitRun(ctx, key, id); err != nil {
			return rec, err
		}
	}
	switch {
	case rec.Result == nil:
		return rec, fmt.Errorf("%s %s: run %s has ended, and its result is not known yet. See:\n    yuba runs %s", action, key, id, s.Call(key))
	case rec.Result.Outcome != run.OutcomeSucceeded && rec.Spec.StateChange != nil && rec.Spec.StateChange.Verb.Inspects() && rec.Result.Text != "":
		return rec, ui.Exitf(ui.ExitRunFailed, "%s %s failed:\n%s", action, key, rec.Result.Text) // nobody else can read why
	case rec.Result.Outcome != run.OutcomeSucceeded:
		return rec, ui.Exitf(ui.ExitRunFailed, "%s %s: %s\nThe run's log:\n    yuba logs %s --run %s", action, key, rec.Result.Error, s.Call(key), id)
	}
	return rec, nil
}

// changed is the answer of commands that change a state.
type changed struct {
	Run     string        `json:"run,omitempty"`
	Verb    run.StateVerb `json:"verb"`
	Args    []string      `json:"args,omitempty"`
	DryRun  bool          `json:"dryRun,omitempty"`
	Outcome run.Outcome   `json:"outcome,omitempty"`
	Text    string        `json:"text"`
	Serial  *uint64       `json:"serial,omitempty"`
}

func tellChange(s *session.Session, rec run.Record, out *ui.Output) error {
	if !out.Machine() {
		fmt.Fprintln(s.Out, rec.Result.Text)
		return nil
	}
	change := rec.Spec.StateChange
	answer := changed{Run: rec.Spec.ID, Verb: change.Verb, Args: change.Args, DryRun: change.Preview, Outcome: rec.Result.Outcome, Text: rec.Result.Text}
	if rec.StateMark != nil {
		answer.Serial = &rec.StateMark.Serial
	}
	return out.Print(s.Out, answer)
}

// warnOfNextReconciliation warns that a stack with automatic approval applies its program next.
func warnOfNextReconciliation(ctx context.Context, s *session.Session, key types.NamespacedName) {
	t, err := s.Get(ctx, key)
	if err != nil || t.Spec.Suspend || !t.AppliesByItself() {
		return
	}
	s.News("\nThe stack applies plans automatically, so its next reconciliation applies the program. If you want to change the program, too, suspend the stack first:\n"+
		"    yuba suspend %s", s.Call(key))
}

func newStatePushCommand(a *session.App) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "push NAME FILE",
		Short: "Replace the state by a file",
		Long: `Replace the state by a file, or by standard input with "-": a state that you pulled and repaired, or that a dead run left
behind. It must be of the same lineage and newer, as for tofu; --force pushes it anyway. The former state stays in the
history. The command shows what the state would lose and gain, and asks.`,
		Example: "  yuba state push vpc mended.tfstate\n  yuba state push vpc runner/orphans/RUN/states/000003 --dry-run",
		Args:    ui.Arguments(2, 2), ValidArgsFunction: a.StackNames(false),
	}
	cmd.Flags().BoolVar(&force, "force", false, "push a state of another lineage, or an older one")
	flags := addChangeFlags(cmd)
	cmd.RunE = a.OnName(func(ctx context.Context, s *session.Session, key types.NamespacedName, rest []string) error {
		data, err := a.ReadFile(rest[0], state.MaxSize)
		if err != nil {
			return fmt.Errorf("push a state of %s: %w", key, err)
		}
		next, err := state.NewSnapshot(data)
		if err != nil {
			return ui.Exitf(ui.ExitFailure, "push a state of %s: the file is not a state: %w", key, err)
		}
		question := fmt.Sprintf("The file, of serial %d, becomes the state of %s.", next.Serial, key)
		return pushState(ctx, s, key, run.StateChange{Verb: run.StatePush, State: data, Force: force}, next, question, flags)
	})
	return cmd
}

// pushState previews a push, asks the question, and pushes next.
func pushState(ctx context.Context, s *session.Session, key types.NamespacedName, change run.StateChange, next *state.Snapshot, question string, flags *changeFlags) error {
	expect, err := previewPush(ctx, s, key, change, next, previews(s, flags.out))
	if err != nil {
		return err
	}
	if flags.dryRun {
		if flags.out.Machine() {
			return flags.out.Print(s.Out, changed{Verb: change.Verb, DryRun: true, Text: "see standard error", Serial: &next.Serial})
		}
		return nil
	}
	if !flags.yes {
		warnOfNextReconciliation(ctx, s, key)
	}
	if err := s.MustConfirm(flags.yes, question); err != nil {
		return err
	}
	return doChange(ctx, s, key, change, expect, flags)
}

// previewPush shows what the state would lose and gain, and returns the digest of the current one.
func previewPush(ctx context.Context, s *session.Session, key types.NamespacedName, change run.StateChange, next *state.Snapshot, w io.Writer) (string, error) {
	current, err := s.Content.State(ctx, key.Namespace, key.Name, "")
	if apierrors.IsNotFound(err) {
		// Either the stack or only its state does not exist.
		if _, err := s.Get(ctx, key); err != nil {
			return "", err
		}
		s.News("There is no state yet.")
		current, err = nil, nil
	}
	if err != nil {
		s.News("Cannot compare the current state: %v", err)
		return "", nil
	}
	now := &state.Snapshot{}
	if current != nil {
		if now, err = state.NewSnapshot(current); err != nil {
			s.News("Cannot compare the current state: %v", err)
			return "", nil
		}
	}
	err = state.CheckPush(state.Key{Namespace: key.Namespace, Suffix: key.Name}, now, next)
	var refused *state.PushError
	if errors.As(err, &refused) && !change.Force {
		return "", ui.Exitf(ui.ExitFailure, "%w", err)
	}
	compareStates(s, w, "The state with serial %d is replaced by one with serial %d:\n", current, change.State)
	return now.Digest, nil
}
