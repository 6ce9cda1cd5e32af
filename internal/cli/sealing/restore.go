// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/sealed"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

func newRestoreCommand(a *session.App) *cobra.Command {
	f, yes, unsigned := &readFlags{}, false, false
	cmd := &cobra.Command{
		Use:   "restore FILE [NAMESPACE/NAME]... -i IDENTITY",
		Short: "Restore stacks from an archive, with their states and histories",
		Long: `Restore all stacks of an archive, or those named, to the same home or another one. A stack that does not exist is created from its
manifest, suspended, in its namespace. Its state becomes the archived one by a run that is recorded like others, and its earlier
versions and runs are added to the history. Nothing is resumed: make a plan first. A created stack belongs to no platform,
Kustomization or other owner: the labels by which they find their stacks are left out.

An archive decides as whom its stacks run, and what. Name the key that "yuba archive" printed (--signer); the command refuses an
archive that another key or nobody has signed. --unsigned restores an archive whoever wrote it: read its manifests first.

The command verifies the whole archive before it changes anything. It refuses a stack whose state is newer than the archived one or
of another lineage, and a stack that is not suspended. Secrets and sources are not restored; the archive has them as manifests if
they were archived.`,
		Example: "  yuba archive restore 2026.archive -i key.txt --signer SHA256:…\n  yuba archive restore s3://archives/team-a team-a/vpc -i key.txt --signer SHA256:… --yes",
		Args:    ui.Arguments(1, -1),
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&unsigned, "unsigned", false, "restore an archive whoever has signed it, or nobody")
	cmd.MarkFlagsMutuallyExclusive("signer", "unsigned")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "restore without a question")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		if err := trusts(f, unsigned, args[0]); err != nil {
			return err
		}
		return restore(cmd.Context(), s, f, args, yes, out)
	})
	return cmd
}

// restorer restores the stacks of one archive.
type restorer struct {
	*session.Session
	place      string
	archive    *sealed.Archive
	index      sealed.Index
	identities []age.Identity
	chosen     map[string]*restored
}

// restored is what becomes of a stack.
type restored struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Created   bool   `json:"created"`
	Serial    uint64 `json:"serial,omitempty"`
	Pushed    bool   `json:"pushed"`
	Run       string `json:"run,omitempty"`
	Versions  int    `json:"versions"`
	Runs      int    `json:"runs"`

	from     sealed.Stack
	manifest []byte
}

func restore(ctx context.Context, s *session.Session, f *readFlags, args []string, yes bool, out *ui.Output) error {
	identities, err := f.read()
	if err != nil {
		return err
	}
	archive, file, err := f.open(ctx, args[0])
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	r := &restorer{Session: s, place: args[0], archive: archive, identities: identities, chosen: map[string]*restored{}}
	// 1. Verify everything, before anything is changed.
	if err := r.verify(ctx, args[1:]); err != nil {
		return err
	}
	// 2. Compare with the home.
	order, err := r.plan(ctx)
	if err != nil {
		return err
	}
	for _, name := range order {
		if err := r.tell(r.chosen[name]); err != nil {
			return explain(r.place, err)
		}
	}
	if err := s.MustConfirm(yes, fmt.Sprintf("Restore %s from the archive of %s?", strings.Join(order, ", "), archive.Header.Created.Format("2006-01-02 15:04"))); err != nil {
		return err
	}
	// 3. Restore one stack after the other.
	answer := make([]*restored, 0, len(order))
	for _, name := range order {
		if err := r.one(ctx, r.chosen[name]); err != nil {
			return fmt.Errorf("restore %s: %w.\nWhat was restored before it is complete. To continue, run the same command again", name, explain(r.place, err))
		}
		answer = append(answer, r.chosen[name])
	}
	if out.Machine() {
		return out.Print(s.Out, answer)
	}
	s.News("The restored stacks are suspended. Review what differs, then resume them:\n    yuba resume %s", strings.Join(order, " "))
	return nil
}

// verify checks the archive to its end, and keeps the manifests of the chosen stacks.
func (r *restorer) verify(ctx context.Context, names []string) error {
	if err := r.archive.Verify(ctx); err != nil {
		return explain(r.place, err)
	}
	var err error
	if r.index, err = r.archive.ReadIndex(r.identities...); err != nil {
		return explain(r.place, err)
	}
	for _, t := range r.index.Stacks {
		name := t.Namespace + "/" + t.Name
		if t.Dir != "stacks/"+name {
			return explain(r.place, &sealed.BadError{Why: "its index has a wrong directory for " + name})
		}
		if len(names) == 0 || slices.Contains(names, name) {
			r.chosen[name] = &restored{Namespace: t.Namespace, Name: t.Name, from: t}
		}
	}
	for _, name := range names {
		if r.chosen[name] == nil {
			return ui.Exitf(ui.ExitNotFound, "archive %s has no stack %s (want NAMESPACE/NAME). List its stacks:\n    yuba archive show %s", r.place, name, r.place)
		}
	}
	return explain(r.place, r.archive.Each(ctx, r.index, r.identities, func(name string, content io.Reader) error {
		for _, t := range r.chosen {
			if name == t.from.Dir+"/"+manifestName {
				t.manifest, err = io.ReadAll(io.LimitReader(content, maxManifest))
				return err
			}
		}
		return nil
	}))
}

// maxManifest is more than the API stores of an object.
const maxManifest = 4 << 20

// plan says what is refused, before anything is changed.
func (r *restorer) plan(ctx context.Context) (order []string, err error) {
	var refused []error
	for _, t := range r.index.Stacks {
		name := t.Namespace + "/" + t.Name
		c := r.chosen[name]
		if c == nil {
			continue
		}
		order = append(order, name)
		if err := r.mayRestore(ctx, c); err != nil {
			refused = append(refused, fmt.Errorf("restore %s: %w", name, err))
		}
	}
	if len(order) == 0 {
		return nil, ui.Exitf(ui.ExitNotFound, "archive %s has no stacks", r.place)
	}
	if len(refused) > 0 {
		return nil, ui.WithCode(ui.ExitWaiting, fmt.Errorf("%w\nNothing was changed", errors.Join(refused...)))
	}
	return order, nil
}

func (r *restorer) mayRestore(ctx context.Context, c *restored) error {
	key := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	live, err := r.Get(ctx, key)
	if ui.IsNotFound(err) {
		c.Created = true
		return nil
	}
	if err != nil {
		return err
	}
	if !live.Spec.Suspend {
		return fmt.Errorf("it is not suspended, and could run meanwhile:\n    yuba suspend %s", key)
	}
	if live.KeepsOwnState() || c.from.State == "" {
		return nil
	}
	now, err := r.current(ctx, key)
	if err != nil || now == nil {
		return err
	}
	switch {
	case now.Lineage != c.from.Lineage:
		return fmt.Errorf("its state has the lineage %s, and the archived one %s: they are not states of the same resources", now.Lineage, c.from.Lineage)
	case now.Serial > c.from.Serial:
		return fmt.Errorf("its state is newer: it has serial %d, and the archived one %d. To go back nevertheless, see:\n    yuba state history %s", now.Serial, c.from.Serial, key)
	}
	return nil
}

// current is the state at the home; nil without one.
func (r *restorer) current(ctx context.Context, key types.NamespacedName) (*state.Snapshot, error) {
	data, err := r.Content.State(ctx, key.Namespace, key.Name, "")
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read its state: %w", err)
	}
	return state.NewSnapshot(data)
}

func (r *restorer) one(ctx context.Context, c *restored) error {
	if err := r.create(ctx, c); err != nil {
		return err
	}
	if err := r.pushState(ctx, c); err != nil {
		return err
	}
	summary, err := r.importHistory(ctx, c)
	if err != nil {
		return err
	}
	c.Versions, c.Runs = len(summary.Versions), len(summary.Runs)
	what := "its state was the archived one already"
	switch {
	case c.Pushed:
		what = fmt.Sprintf("its state has serial %d now", c.Serial)
	case c.from.OwnBackend:
		what = "its state is in its own backend"
	case c.from.State == "":
		what = "it had no state"
	}
	r.News("%s/%s: %s (%s, %s).", c.Namespace, c.Name, what, ui.Count(c.Versions, "version"), ui.Count(c.Runs, "run"))
	return nil
}

// create creates a missing stack from its manifest, suspended, and its namespace.
func (r *restorer) create(ctx context.Context, c *restored) error {
	if _, err := r.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: c.Name}); !ui.IsNotFound(err) {
		return err
	}
	was, err := c.archived()
	if err != nil {
		return err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.Namespace}}
	if err := r.Objects.Create(ctx, ns, session.FieldOwner); err != nil && !apierrors.IsAlreadyExists(err) {
		var live corev1.Namespace
		// Who may not create namespaces may still use an existing one.
		if !apierrors.IsForbidden(err) || r.Objects.Get(ctx, client.ObjectKey{Name: c.Namespace}, &live) != nil {
			return fmt.Errorf("create namespace %s: %w", c.Namespace, err)
		}
	}
	if err := r.Objects.Create(ctx, made(was), session.FieldOwner); err != nil {
		return fmt.Errorf("create the stack: %w", err)
	}
	return nil
}

// made is a stack to create from an archived one: suspended, and nobody's.
func made(was *infrav1.Terraform) *infrav1.Terraform {
	t := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: was.Namespace, Name: was.Name, Labels: freeLabels(was.Labels)}, Spec: was.Spec}
	t.Spec.Suspend = true
	return t
}

// pushState makes the archived state the current one, by a recorded run under the state's lock.
func (r *restorer) pushState(ctx context.Context, c *restored) error {
	if c.from.State == "" {
		return nil
	}
	key := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	now, err := r.current(ctx, key)
	if err != nil {
		return err
	}
	data, err := r.stateOf(ctx, c)
	if err != nil {
		return err
	}
	next, err := state.NewSnapshot(data)
	if err != nil {
		return fmt.Errorf("read the archived state: %w", err)
	}
	c.Serial = next.Serial
	expect := ""
	if now != nil {
		if now.Digest == next.Digest {
			return nil
		}
		expect = now.Digest
	}
	rec, err := r.Content.Change(ctx, c.Namespace, c.Name, run.StateChange{Verb: run.StatePush, State: data}, expect)
	if err != nil {
		return fmt.Errorf("push the archived state: %w", err)
	}
	if rec.Result == nil {
		if rec, err = r.AwaitRun(ctx, key, rec.Spec.ID); err != nil {
			return err
		}
	}
	c.Pushed, c.Run = true, rec.Spec.ID
	if rec.Result == nil || rec.Result.Outcome != run.OutcomeSucceeded {
		return fmt.Errorf("push the archived state: run %s did not succeed. See its log:\n    yuba logs %s --run %s", c.Run, key, c.Run)
	}
	return nil
}

// stateOf reads the archived state: one at a time is in memory.
func (r *restorer) stateOf(ctx context.Context, c *restored) (data []byte, err error) {
	var b bytes.Buffer
	err = r.archive.Each(ctx, r.index, r.identities, func(name string, content io.Reader) error {
		if name != c.from.State {
			return nil
		}
		n, err := io.Copy(&b, io.LimitReader(content, state.MaxSize+1))
		if err == nil && n > state.MaxSize {
			err = &sealed.BadError{Why: name + " is larger than a state may be"}
		}
		return err
	})
	return b.Bytes(), err
}
