// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/state/backends"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

type migrateFlags struct {
	*changeFlags
	to, breakLock string
	set           []string
	from          []string
	accept        bool
}

func newStateMigrateCommand(a *session.App) *cobra.Command {
	f := &migrateFlags{}
	cmd := &cobra.Command{
		Use:   "migrate NAME",
		Short: "Move the state to another backend",
		Long: `Move the state of a stack to another backend: between Yuba's own store and a custom backend, or between two custom ones.
Name the new backend with --to, or change the spec first, for instance in git; the stack then waits with the reason
BackendChanged until this command has moved the state.

The command copies the state with a higher serial, reads the copy back, and compares resources, outputs and lineage. It
refuses a destination that has another state, and a source that somebody else has locked or changed. If it is interrupted
anywhere, the stack waits and nothing is lost: repeat the command, or let the spec name the former backend again. The
former state stays where it is, as a copy.`,
		Example: `  yuba state migrate vpc --to s3 --set bucket=states --set key=vpc.tfstate --set use_lockfile=true --settings-from Secret/states
  yuba state migrate vpc --to yuba
  yuba state migrate vpc --dry-run`,
		Args: ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	cmd.Flags().StringVar(&f.to, "to", "", "the new backend: "+backendTypes()+"; default: the one that the spec names")
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "a setting of the new backend, as NAME=VALUE; repeat it for more")
	cmd.Flags().StringArrayVar(&f.from, "settings-from", nil, "a Secret or ConfigMap with settings, as Secret/NAME or ConfigMap/NAME")
	cmd.Flags().BoolVar(&f.accept, "accept", false, "copy nothing: the state is at the new backend already")
	cmd.Flags().StringVar(&f.breakLock, "break-lock", "", "the id of a lock to break, whose holder is gone")
	ui.CompleteFlag(cmd, "to", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var found []cobra.Completion
		for _, p := range backends.Presets {
			found = append(found, cobra.CompletionWithDesc(p.Type, p.Short))
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	})
	f.changeFlags = addChangeFlags(cmd)
	cmd.RunE = a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, _ []string) error {
		there, err := f.destination()
		if err != nil {
			return ui.UsageErrorf(cmd, "%w", err)
		}
		return migrateState(ctx, s, t, there, f)
	})
	return cmd
}

func backendTypes() string {
	var types []string
	for _, p := range backends.Presets {
		types = append(types, p.Type)
	}
	return strings.Join(types, ", ")
}

// settingName is a name that HCL takes as an identifier, or two with a dot between.
var settingName = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$`)

// destination is the backend that the flags name; nil for that of the spec.
func (f *migrateFlags) destination() (*infrav1.BackendStatus, error) {
	if f.to == "" {
		if len(f.set)+len(f.from) > 0 {
			return nil, fmt.Errorf("--set and --settings-from complete --to, which is missing")
		}
		return nil, nil
	}
	preset, err := backends.Find(f.to)
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	for _, text := range f.set {
		name, value, ok := strings.Cut(text, "=")
		if !ok || !settingName.MatchString(name) {
			return nil, fmt.Errorf("--set %q is not NAME=VALUE", text)
		}
		settings[name] = value
	}
	var from []infrav1.BackendConfigsReference
	for _, text := range f.from {
		kind, name, ok := strings.Cut(text, "/")
		if !ok || name == "" || kind != "Secret" && kind != "ConfigMap" {
			return nil, fmt.Errorf("--settings-from %q is neither Secret/NAME nor ConfigMap/NAME", text)
		}
		from = append(from, infrav1.BackendConfigsReference{Kind: kind, Name: name})
	}
	return preset.Configure(settings, from)
}

// migrateState lets the spec name the new backend, and then moves the state. Between the two, the
// stack waits.
func migrateState(ctx context.Context, s *session.Session, t *infrav1.Terraform, there *infrav1.BackendStatus, f *migrateFlags) error {
	key := session.KeyOf(t)
	change := run.StateChange{Verb: run.StateMigrate, Accept: f.accept, BreakLock: f.breakLock}
	if there == nil && t.Status.Backend != nil && moved(t) && !f.accept {
		return tellMoved(s, t, f.out)
	}
	if there == nil {
		return changeState(ctx, s, key, change, f.changeFlags)
	}
	t, err := atRest(ctx, s, t)
	if err == nil {
		err = mayRename(s, t, key)
	}
	if err != nil {
		return err
	}
	if f.dryRun {
		fmt.Fprint(previews(s, f.out), wouldMigrate(key, there))
		if f.out.Machine() {
			return f.out.Print(s.Out, changed{Verb: change.Verb, DryRun: true, Text: "see standard error"})
		}
		return nil
	}
	if !f.yes {
		fmt.Fprintf(previews(s, f.out), "The new backend:\n%s", describeBackend(there))
	}
	if name := t.Labels["kustomize.toolkit.fluxcd.io/name"]; name != "" {
		s.News("Kustomization %s applies this stack: change the backend in its source, too. Otherwise it restores the former one, and the stack waits.", name)
	}
	if err := s.MustConfirm(f.yes, fmt.Sprintf("The spec of %s names this backend, and the state is moved there.", key)); err != nil {
		return err
	}
	config := there.BackendConfig
	if was := t.Spec.BackendConfig; config == nil && was != nil && (was.SecretSuffix != "" || len(was.Labels) > 0) {
		config = &infrav1.BackendConfigSpec{SecretSuffix: was.SecretSuffix, Labels: was.Labels}
	}
	spec := map[string]any{"backendConfig": instead(t.Spec.BackendConfig, config), "cloud": instead(t.Spec.Cloud, there.Cloud), "backendConfigsFrom": there.BackendConfigsFrom}
	// Of two people who do this at once, one gets a conflict.
	t, err = s.Patch(ctx, "set the backend of", key, session.Change{Spec: spec}.If(t.ResourceVersion))
	switch {
	case err != nil:
		return err
	case moved(t) && !f.accept:
		return tellMoved(s, t, f.out)
	}
	f.yes = true // it was asked
	if err := changeState(ctx, s, key, change, f.changeFlags); err != nil {
		s.News("The stack waits until its state is moved. To continue:\n    yuba state migrate %s\nTo stay with the former backend, restore spec.backendConfig as status.backend has it.", s.Call(key))
		return err
	}
	return nil
}

// moved says that the state is where the spec says, for instance because an interrupted command had
// moved it. Settings from Secrets may have changed since: then the condition says so.
func moved(t *infrav1.Terraform) bool {
	is := t.Status.Backend
	if is == nil {
		is = &infrav1.BackendStatus{}
	}
	return t.Status.ObservedGeneration == t.Generation && session.ConditionOf(t, infrav1.ConditionReady).Reason != infrav1.ReasonBackendChanged &&
		(t.Status.Backend != nil || !t.KeepsOwnState()) && equality.Semantic.DeepEqual(t.BackendAt(is.Location), is)
}

func tellMoved(s *session.Session, t *infrav1.Terraform, out *ui.Output) error {
	location := inputs.ManagedLocation
	if t.Status.Backend != nil {
		location = t.Status.Backend.Location
	}
	text := fmt.Sprintf("The state of %s is at %s already, as the spec says. To move it, name another backend with --to.", session.KeyOf(t), location)
	if out.Machine() {
		return out.Print(s.Out, changed{Verb: run.StateMigrate, Outcome: run.OutcomeSucceeded, Text: text})
	}
	fmt.Fprintln(s.Out, text)
	return nil
}

// wouldMigrate is the answer to a dry run. Only a run can use a backend that the spec does not name yet.
func wouldMigrate(key types.NamespacedName, there *infrav1.BackendStatus) string {
	return fmt.Sprintf("Would set the backend of %s, and then move the state there:\n%sThe new backend was not contacted: neither its settings nor its content are checked.\n", key, describeBackend(there))
}

// atRest waits for the run in progress, which uses the former backend, and returns the stack after it.
func atRest(ctx context.Context, s *session.Session, t *infrav1.Terraform) (*infrav1.Terraform, error) {
	key := session.KeyOf(t)
	for t.Status.CurrentRun != nil {
		id := t.Status.CurrentRun.ID
		s.News("Waiting for run %s of %s …", id, key)
		if _, err := s.AwaitRun(ctx, key, id); err != nil {
			return nil, err
		}
		for begun := time.Now(); t.Status.CurrentRun != nil && t.Status.CurrentRun.ID == id; { // until its end is recorded
			if time.Since(begun) > recordedWithin {
				return nil, ui.Exitf(ui.ExitFailure, "migrate the state of %s: the end of run %s is not recorded yet. Try again", key, id)
			}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(recordedWithin / 100):
			}
			var err error
			if t, err = s.Get(ctx, key); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// recordedWithin limits the wait for the status after a run's end.
const recordedWithin = 20 * time.Second

// mayRename refuses a stack whose state would be out of sight afterwards.
func mayRename(s *session.Session, t *infrav1.Terraform, key types.NamespacedName) error {
	status := &t.Status
	_, known := t.StateLocation()
	switch {
	case known:
		return nil // also if the spec names another backend since an interrupted migration
	case status.LastAppliedRevision == "" && status.LastAppliedRun == "":
		return ui.Exitf(ui.ExitFailure, "migrate the state of %s: nothing was applied yet, so there is no state. Set the backend in the spec:\n    yuba kubectl edit tf %s -n %s", key, key.Name, key.Namespace)
	}
	return ui.Exitf(ui.ExitFailure, "migrate the state of %s: it is not recorded yet where its state is. Let the stack plan once:\n    yuba replan %s --wait", key, s.Call(key))
}

// instead is the value of a merge patch that replaces an object: nil for every field that goes.
func instead(was, is any) any {
	before, after := fieldsOf(was), fieldsOf(is)
	if after == nil {
		return nil
	}
	for name, value := range before {
		inner, nested := value.(map[string]any)
		switch now, kept := after[name]; {
		case !kept:
			after[name] = nil
		case nested:
			after[name] = instead(inner, now)
		}
	}
	return after
}

func fieldsOf(object any) (fields map[string]any) {
	text, err := json.Marshal(object)
	if err != nil || json.Unmarshal(text, &fields) != nil {
		return nil
	}
	return fields
}

func describeBackend(b *infrav1.BackendStatus) string {
	switch {
	case b.Cloud != nil:
		w := b.Cloud.Workspaces
		if w.Name == "" {
			return fmt.Sprintf("  cloud: organization %s, workspaces with the tags %s\n", b.Cloud.Organization, strings.Join(w.Tags, ", "))
		}
		return fmt.Sprintf("  cloud: organization %s, workspace %s\n", b.Cloud.Organization, w.Name)
	case b.BackendConfig == nil:
		return "  Yuba's own store\n"
	}
	text := "  " + strings.ReplaceAll(strings.TrimSpace(b.BackendConfig.CustomConfiguration), "\n", "\n  ") + "\n"
	for _, from := range b.BackendConfigsFrom {
		text += fmt.Sprintf("  with the settings of %s %s\n", from.Kind, from.Name)
	}
	return text
}
