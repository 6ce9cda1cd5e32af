// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// The owners that take a stack.
const (
	toTofu       = "tofu"
	toImport     = "import"
	toCrossplane = "crossplane"
	toYuba       = "yuba"
)

// handover is one call of the command.
type handover struct {
	*session.Session
	to, dir, owner, tool string
	secrets, unproven    bool
	unconfined           bool
	cage                 cage
	yes                  bool
	leave                []string
	out                  *ui.Output
	// step is called between two steps; tests end a hand-over there.
	step func(name string) error
}

// defaultTimeout limits a hand-over with its proof, which downloads providers.
const defaultTimeout = 30 * time.Minute

// NewCommand is "yuba hand-over".
func NewCommand(a *session.App) *cobra.Command {
	h := &handover{step: func(string) error { return nil }}
	cmd := &cobra.Command{
		Use:   "hand-over NAME... --to {tofu | import | crossplane | yuba}",
		Short: "Hand stacks over to another owner; Yuba then refuses to run them",
		Long: `Hand stacks over to another owner. From then on this home refuses to run them, says who owns them, and keeps all resources if a
stack is deleted. At no time may both owners run a stack.

  tofu        a directory for plain tofu: the program of the last apply, its state, backend, variables, environment and lock file
  import      the same program without a state, the ids of all resources, and import blocks for a new owner's state
  crossplane  the ids of all resources, and manifests that observe those whose kind is known. They are not proven
  yuba        another home: see "yuba move", which moves whole namespaces with their histories

The command marks and suspends the stack, waits until no run is active and nobody holds its lock, writes DIR/NAMESPACE/NAME, and
proves it: a plan there must find no changes (import: nothing but imports). Only then the directory gets its name, and the owner.
If the proof fails, or the command is interrupted, the stack stays marked and nobody runs it: run the same command again, or
undo it with "yuba take-back".

Without --secrets, values of Secrets are not written: README.md of the directory lists them.

The proof runs the stack's program and its providers on this machine, with the stack's variables and environment. They are confined
by yuba-sandbox: they have a home directory of their own, see neither your files nor your configuration of tofu, and reach the
network. Where yuba-sandbox does not work, the command refuses; --unconfined runs them with your rights.`,
		Example: "  yuba hand-over vpc --to tofu --dir ./handed-over --secrets\n  yuba hand-over vpc dns --to import --dir ./handed-over --leave null_resource.wait\n" +
			"  yuba hand-over vpc --to crossplane --dir ./manifests --owner 'the platform team'\n  yuba take-back vpc",
		Args: ui.Arguments(1, -1), ValidArgsFunction: a.StackNames(true),
	}
	flags := cmd.Flags()
	flags.StringVar(&h.to, "to", "", "who runs the stacks from now on: tofu, import, crossplane or yuba")
	flags.StringVar(&h.dir, "dir", "", "the directory to write NAMESPACE/NAME into")
	flags.StringVar(&h.owner, "owner", "", "who owns the stacks now, for messages (default the directory)")
	flags.StringVar(&h.tool, "tool", "", "the program for the proof (default tofu on PATH)")
	flags.BoolVar(&h.secrets, "secrets", false, "write values of Secrets, too, readable for you only")
	flags.BoolVar(&h.unproven, "no-proof", false, "do not make a plan in the directory")
	flags.BoolVar(&h.unconfined, "unconfined", false, "make the proof without yuba-sandbox: the stack's program can read your files")
	flags.StringArrayVar(&h.leave, "leave", nil, "with --to import, an address to leave out; can be repeated")
	flags.BoolVarP(&h.yes, "yes", "y", false, "hand over without a question")
	h.out = ui.AddOutputFlag(cmd, "json", "yaml")
	ui.AddTimeoutFlag(cmd, defaultTimeout, "how long to wait for active runs and locks")
	ui.Complete(cmd, "to", toTofu, toImport, toCrossplane, toYuba)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := h.check(cmd); err != nil {
			return err
		}
		return a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
			h.Session = s
			keys, err := s.Keys(cmd, session.Stacks, args)
			if err != nil {
				return err
			}
			return h.run(cmd.Context(), keys)
		})(cmd, args)
	}
	return cmd
}

func (h *handover) check(cmd *cobra.Command) error {
	switch {
	case h.to == toYuba:
		return ui.UsageErrorf(cmd, "\"yuba move\" hands over to another home, with whole namespaces:\n    yuba move --from HOME --to HOME -n NAMESPACE\nThe stacks that it leaves here are refused and say where they are")
	case !slices.Contains([]string{toTofu, toImport, toCrossplane}, h.to):
		return ui.UsageErrorf(cmd, "--to %q: want tofu, import, crossplane or yuba", h.to)
	case h.dir == "":
		return ui.UsageErrorf(cmd, "name the directory to write: --dir DIR")
	case len(h.leave) > 0 && h.to != toImport:
		return ui.UsageErrorf(cmd, "--leave only goes with --to import")
	}
	dir, err := filepath.Abs(h.dir)
	if err != nil {
		return err
	}
	h.dir = dir
	if h.to == toCrossplane {
		h.unproven = true
		return nil
	}
	if !h.unproven {
		h.tool, err = findTool(h.tool)
	}
	if !h.unproven && !h.unconfined && err == nil {
		h.cage, err = findCage(cmd.Context(), h.tool)
	}
	return err
}

func (h *handover) dirOf(t *infrav1.Terraform) string {
	return filepath.Join(h.dir, t.Namespace, t.Name)
}

func (h *handover) ownerOf(t *infrav1.Terraform) string {
	if h.owner != "" {
		return h.owner
	}
	return h.to + " in " + h.dirOf(t)
}

// handed is the answer about a stack.
type handed struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	To        string   `json:"to"`
	Owner     string   `json:"owner"`
	Dir       string   `json:"dir"`
	Serial    uint64   `json:"serial,omitempty"`
	Proof     string   `json:"proof"`
	Withheld  []string `json:"withheld,omitempty"`
}

func (h *handover) run(ctx context.Context, keys []types.NamespacedName) error {
	names := make([]string, 0, len(keys))
	for _, key := range keys {
		names = append(names, key.String())
	}
	if err := h.MustConfirm(h.yes, fmt.Sprintf("Hand %s over to %s in %s? This home then refuses to run %s.", ui.SomeOf(names, 10), h.to, h.dir, ui.Count(len(keys), "stack"))); err != nil {
		return err
	}
	done := make([]*handed, 0, len(keys))
	for _, key := range keys {
		one, err := h.one(ctx, key)
		if err != nil {
			return interrupted(key, err)
		}
		done = append(done, one)
		h.News("%s belongs to %s now. Proof: %s.", key, one.Owner, one.Proof)
		if len(one.Withheld) > 0 {
			h.News("  %s were not written: README.md lists them.", ui.Count(len(one.Withheld), "secret"))
		}
	}
	if h.out.Machine() {
		return h.out.Print(h.Out, done)
	}
	return nil
}

// interrupted adds to an error how to continue.
func interrupted(key types.NamespacedName, err error) error {
	var coded *ui.CodedError
	if errors.As(err, &coded) {
		return err
	}
	var changed *changedError
	if errors.As(err, &changed) {
		return fmt.Errorf("hand over %s: %w", key, err)
	}
	return fmt.Errorf("hand over %s: %w.\nNobody runs it now. To continue, run the same command again; to undo it:\n    yuba take-back %s", key, err, key)
}

// one hands over a stack. See the package's comment for the order.
func (h *handover) one(ctx context.Context, key types.NamespacedName) (*handed, error) {
	t, err := h.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	if err := h.free(t); err != nil {
		return nil, err
	}
	// 1. Mark.
	mark, err := h.begin(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := h.step("marked"); err != nil {
		return nil, err
	}
	// 2. Wait.
	if t, err = h.quiet(ctx, key); err != nil {
		return nil, err
	}
	if err := h.step("quiet"); err != nil {
		return nil, err
	}
	done := &handed{Namespace: key.Namespace, Name: key.Name, To: mark.To, Owner: mark.Owner, Dir: mark.Dir}
	c, err := readCard(mark.Dir)
	switch {
	case err == nil && c.ID == mark.ID:
		// The directory was armed before the command was interrupted.
		done.Serial, done.Withheld, done.Proof = c.Serial, c.Withheld, "made before the interruption"
	case err == nil || !errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%s exists, and is of something else. Name another directory", mark.Dir)
	default:
		// 3. Write and prove, and 4. arm.
		err := h.arm(ctx, t, mark, done)
		if err != nil {
			return nil, err
		}
	}
	if err := h.step("armed"); err != nil {
		return nil, err
	}
	// 5. Record.
	if err := h.record(ctx, key, mark, done.Serial); err != nil {
		return nil, err
	}
	return done, h.step("recorded")
}

// record writes the new owner into the mark. If somebody has taken the stack back meanwhile with --abandoned, the
// directory must not work.
func (h *handover) record(ctx context.Context, key types.NamespacedName, mark moving.Handover, serial uint64) error {
	err := remark(ctx, h.Session, key, mark.ID, from{moving.PhaseArming, moving.PhaseDone}, func(m *moving.Handover) (*moving.Handover, map[string]any) {
		m.Phase, m.Serial = moving.PhaseDone, serial
		return m, nil
	})
	var changed *changedError
	if !errors.As(err, &changed) {
		return err
	}
	c, readErr := readCard(mark.Dir)
	if readErr == nil && c.ID == mark.ID {
		readErr = (&directory{path: mark.Dir, card: c}).disarm(mark)
	}
	if readErr != nil {
		return fmt.Errorf("%w. Its directory %s could not be disarmed (%w): delete it", err, mark.Dir, readErr)
	}
	return fmt.Errorf("%w. tofu refuses to work in %s now", err, mark.Dir)
}

// free refuses a directory that is in use, before the stack is marked.
func (h *handover) free(t *infrav1.Terraform) error {
	dir := h.dirOf(t)
	if _, err := os.Lstat(dir); err != nil {
		return nil
	}
	m, marked := moving.HandedOver(t)
	if c, err := readCard(dir); err == nil && marked && c.ID == m.ID {
		return nil
	}
	return ui.Exitf(ui.ExitFailure, "hand over %s: %s exists already. Name another --dir, or move that away. Nothing was changed", session.KeyOf(t), dir)
}

// write writes what the new owner gets, and proves it.
func (h *handover) write(ctx context.Context, d *directory, c *content) (proof string, err error) {
	var list []resource
	if c.file != nil {
		list = resourcesOf(c.file)
		if err := d.writeResources(list); err != nil {
			return "", err
		}
	}
	switch h.to {
	case toCrossplane:
		if c.file == nil {
			return "", errors.New("its state is in a custom backend, so its resources are not known here")
		}
		d.card.Serial = c.serial()
		if err := os.RemoveAll(filepath.Join(d.path, programDir)); err != nil {
			return "", err
		}
		return d.writeCrossplane(list)
	case toImport:
		if c.file == nil {
			return "", errors.New("its state is in a custom backend, so its resources are not known here")
		}
		if err := errors.Join(d.write(c), d.writeImports(list, h.leave)); err != nil {
			return "", err
		}
	default:
		if err := errors.Join(d.write(c), d.writeState(c)); err != nil {
			return "", err
		}
	}
	if h.unproven {
		return "none was asked for (--no-proof)", nil
	}
	h.News("%s/%s: making a plan in its directory …", d.card.Namespace, d.card.Name)
	p := &prover{tool: h.tool, module: d.module(), program: filepath.Join(d.path, programDir), cage: h.cage, content: c, secrets: h.secrets}
	if h.to == toImport {
		return p.provesImports(ctx, list, h.leave)
	}
	return p.provesNoChanges(ctx)
}

// Request hands over one stack, or takes it back, without a terminal.
type Request struct {
	To, Dir, Tool string
	// Abandoned is the flag of "yuba take-back".
	Abandoned bool
	// Step is called between two steps, and ends the call there if it returns an error.
	Step func(name string) error
}

// HandOver does what "yuba hand-over --yes" does.
func (r Request) HandOver(ctx context.Context, s *session.Session, key types.NamespacedName) error {
	h := &handover{Session: s, to: r.To, dir: r.Dir, tool: r.Tool, unproven: r.Tool == "", yes: true, step: r.Step}
	_, err := h.one(ctx, key)
	return err
}

// TakeBack does what "yuba take-back --yes" does.
func (r Request) TakeBack(ctx context.Context, s *session.Session, key types.NamespacedName) error {
	t, err := s.Get(ctx, key)
	if err != nil {
		return err
	}
	b := &takeback{Session: s, abandoned: r.Abandoned, yes: true, step: r.Step, out: &ui.Output{}}
	return b.run(ctx, t)
}
