// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/runs/attended"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// planned are the flags of commands that plan.
type planned struct {
	in                        inputs
	targets, replace          []string
	destroy, refreshOnly      bool
	lockTimeout               string
	file                      string
	detailed, onServer, agree bool
	out                       *ui.Output
}

// flags gives a command the flags of plans.
func (o *planned) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.in.flags(cmd)
	flags.StringArrayVar(&o.targets, "target", nil, "plan this address and what it depends on only; can be repeated")
	flags.StringArrayVar(&o.replace, "replace", nil, "replace the resource with this address; can be repeated")
	flags.StringVar(&o.lockTimeout, "lock-timeout", "", "wait so long for the lock of the state, such as 30s")
}

func (in *inputs) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&in.vars, "var", nil, "an input variable as NAME=VALUE; can be repeated. Use TF_VAR_NAME for secrets")
	cmd.Flags().StringArrayVar(&in.files, "var-file", nil, "a file of values; can be repeated")
}

// args are tofu's arguments for a plan into a file.
func (o *planned) args(p *place, file string) ([]string, error) {
	args := []string{"plan", "-input=false", "-detailed-exitcode", "-out=" + file}
	if !p.Colors(p.Out) {
		args = append(args, "-no-color")
	}
	if o.destroy {
		args = append(args, "-destroy")
	}
	if o.refreshOnly {
		args = append(args, "-refresh-only")
	}
	if o.lockTimeout != "" {
		args = append(args, "-lock-timeout="+o.lockTimeout)
	}
	for _, address := range o.targets {
		args = append(args, "-target="+address)
	}
	for _, address := range o.replace {
		args = append(args, "-replace="+address)
	}
	given, err := p.varArgs()
	return append(args, given...), err
}

// Exit codes of "tofu plan -detailed-exitcode".
const (
	codeError   = 1
	codeChanges = 2
)

func (g *group) newPlanCommand() *cobra.Command {
	var o planned
	cmd := &cobra.Command{
		Use:   "plan ENV",
		Short: "Show what an apply would change",
		Long: `Show what an apply of an environment would change. Yuba initialises the environment if its modules, providers or backend changed.

Before tofu starts, Yuba reports variables that have no value, and keys in files of values that no variable has, with the nearest name.

With --out, the plan is saved in a file, which "yuba env apply ENV FILE" applies. The file can contain secrets: only you can read it.
With -o json the changes are shown as a document, without sensitive values.

With --on-server, the server plans the stack of the environment with these files, with its credentials and state; nothing is applied.

With --detailed-exitcode the exit code is that of "tofu plan -detailed-exitcode": 0 without changes, 1 after an error, 2 with changes.
Else it is 4 if tofu failed, 3 if there is no such environment, 1 after another error, and 0. A flag that is not known is 1
here, so that 2 always means changes.`,
		Example: "  yuba env plan staging\n  yuba env plan staging --out staging.tfplan\n  yuba env plan staging --detailed-exitcode\n  yuba env plan staging --on-server",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: g.complete,
	}
	o.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.file, "out", "", "save the plan in this file")
	flags.BoolVar(&o.destroy, "destroy", false, "plan to destroy everything")
	flags.BoolVar(&o.refreshOnly, "refresh-only", false, "only plan to record what others changed")
	flags.BoolVar(&o.detailed, "detailed-exitcode", false, "end with 0 without changes, 1 after an error, 2 with changes")
	flags.BoolVar(&o.onServer, "on-server", false, "plan the stack of the environment, on the server")
	o.out = ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return ui.WithCode(codeError, ui.UsageErrorOf(cmd, err)) })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.onServer {
			return g.planOnServer(cmd, args[0], &o)
		}
		changes, err := g.plan(cmd.Context(), args[0], &o)
		return o.exit(changes, err)
	}
	return cmd
}

// exit is the error that a plan ends with.
func (o *planned) exit(changes bool, err error) error {
	var coded *ui.CodedError
	switch {
	case !o.detailed:
		return err
	case err == nil && changes:
		return ui.WithCode(codeChanges, errors.New(""))
	case err == nil, errors.As(err, &coded) && coded.Code == ui.ExitInterrupted:
		return err
	}
	return ui.WithCode(codeError, err)
}

// plan shows a plan, and reports whether it has changes.
func (g *group) plan(ctx context.Context, name string, o *planned) (changes bool, err error) {
	p, err := g.open(name, o.in)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	file := p.desk.Private("p.tfplan")
	if changes, err = p.makePlan(ctx, o, file); err != nil {
		return false, err
	}
	if o.out.Machine() {
		if err := p.printPlan(ctx, file, o.out); err != nil {
			return false, err
		}
	}
	if o.file == "" {
		return changes, nil
	}
	if err := move(file, o.file); err != nil {
		return false, fmt.Errorf("save the plan of %s: %w", name, err)
	}
	g.News("Saved the plan. Apply it with:\n    yuba env apply %s %s", name, o.file)
	return changes, nil
}

// makePlan makes a plan in a file of the desk.
func (p *place) makePlan(ctx context.Context, o *planned, file string) (changes bool, err error) {
	if err := p.checkValues(); err != nil {
		return false, err
	}
	if err := p.ensureInit(ctx); err != nil {
		return false, err
	}
	args, err := o.args(p, file)
	if err != nil {
		return false, err
	}
	problems := &keeper{to: p.Err}
	call := attended.Call{Args: args, Errors: problems}
	if o.out.Machine() {
		call.Out = p.Err
	}
	code, err := p.run(ctx, call)
	switch {
	case err != nil:
		return false, err
	case code == codeChanges:
		return true, nil
	case code != 0:
		return false, ui.Exitf(ui.ExitRunFailed, "the plan of %s failed%s", p.label(), p.afterPlan(problems.kept))
	}
	return false, nil
}

// afterPlan is the next step after a plan that failed with these messages.
func (p *place) afterPlan(said string) string {
	switch {
	case strings.Contains(said, "Error acquiring the state lock"):
		return fmt.Sprintf(". If the holder of the lock is gone:\n    yuba env tofu %s force-unlock -force ID", p.label())
	case len(p.unlisted) > 0:
		return fmt.Sprintf(". Yuba does not know which credentials %s may have. If one misses its own, such as ACME_TOKEN:\n    yuba env plan %s --pass ACME_TOKEN", ui.SomeOf(p.unlisted, 3), p.label())
	}
	return ""
}

// keeper passes messages on, and keeps the beginning of them.
type keeper struct {
	to   io.Writer
	kept string
}

// maxKept is more than the messages that a next step depends on.
const maxKept = 64 << 10

func (k *keeper) Write(b []byte) (int, error) {
	k.kept += string(b[:min(len(b), maxKept-len(k.kept))])
	return k.to.Write(b)
}

// printPlan prints a plan as a document, without sensitive values.
func (p *place) printPlan(ctx context.Context, file string, out *ui.Output) error {
	var show bytes.Buffer
	code, err := p.run(ctx, attended.Call{Args: []string{"show", "-json", "-no-color", file}, Out: &show})
	if err != nil {
		return err
	}
	if code != 0 {
		return ui.Exitf(ui.ExitRunFailed, "read the plan of %s: tofu show failed", p.label())
	}
	text := show.Bytes()
	if i := bytes.Index(text, []byte("{\"format_version\"")); i > 0 {
		text = text[i:] // after warnings about the configuration of tofu
	}
	described, err := plan.Describe(text)
	if err != nil {
		return fmt.Errorf("read the plan of %s: %w", p.label(), err)
	}
	decoded, err := plan.Decode(described.Document)
	if err != nil {
		return fmt.Errorf("read the plan of %s: %w", p.label(), err)
	}
	return out.Print(p.Out, decoded)
}

// move copies a file to where only its owner can read it, and removes it.
func move(from, to string) error {
	text, err := os.ReadFile(from) //nolint:gosec // our own
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		return err
	}
	if err := os.Chmod(to, 0o600); err != nil {
		return err
	}
	return os.Remove(from)
}

func (g *group) newApplyCommand() *cobra.Command {
	var o planned
	cmd := &cobra.Command{
		Use:   "apply ENV [PLAN]",
		Short: "Plan, ask, and apply exactly that plan; or apply a saved plan",
		Long: `Plan an environment, show the plan, ask, and apply exactly that plan. Without a terminal, --yes confirms. A plan that was saved with
"yuba env plan ENV --out FILE" is applied without a question.

Ctrl-C asks tofu to stop: it finishes what it is doing and writes the state.`,
		Example: "  yuba env apply staging\n  yuba env apply staging --yes\n  yuba env apply staging staging.tfplan",
		Args:    ui.Arguments(1, 2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return g.complete(cmd, args, word)
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&o.refreshOnly, "refresh-only", false, "only record what others changed")
	cmd.Flags().BoolVarP(&o.agree, "yes", "y", false, "apply without a question")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 {
			return g.applySaved(cmd.Context(), args[0], args[1], &o)
		}
		return g.planAndApply(cmd.Context(), args[0], &o, "Apply this plan of %s?")
	}
	return cmd
}

func (g *group) newDestroyCommand() *cobra.Command {
	o := planned{destroy: true}
	cmd := &cobra.Command{
		Use:   "destroy ENV",
		Short: "Plan to destroy everything of an environment, ask, and do so",
		Long: `Plan to destroy all resources of an environment, show the plan, ask, and apply exactly that plan. Without a terminal, --yes
confirms.`,
		Example: "  yuba env destroy staging\n  yuba env destroy staging --target module.shop",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: g.complete,
	}
	o.flags(cmd)
	cmd.Flags().BoolVarP(&o.agree, "yes", "y", false, "destroy without a question")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return g.planAndApply(cmd.Context(), args[0], &o, "Destroy all of this in %s? There is no undo.")
	}
	return cmd
}

// planAndApply plans, asks, and applies exactly that plan.
func (g *group) planAndApply(ctx context.Context, name string, o *planned, question string) (err error) {
	p, err := g.open(name, o.in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	file := p.desk.Private("p.tfplan")
	changes, err := p.makePlan(ctx, o, file)
	if err != nil || !changes {
		return err
	}
	if err := g.MustConfirm(o.agree, fmt.Sprintf(question, p.label())); err != nil {
		return err
	}
	return p.apply(ctx, o, file)
}

// applySaved applies a plan from a file.
func (g *group) applySaved(ctx context.Context, name, saved string, o *planned) (err error) {
	full, err := filepath.Abs(saved)
	if err != nil {
		return err
	}
	if _, err := os.Stat(full); err != nil {
		return ui.Exitf(ui.ExitNotFound, "apply a saved plan of %s: %w", name, err)
	}
	if len(o.in.vars)+len(o.in.files)+len(o.targets)+len(o.replace) > 0 || o.refreshOnly {
		return ui.Exitf(ui.ExitUsage, "apply %s: a saved plan has its own values and targets: leave --var, --var-file, --target, --replace and --refresh-only out", saved)
	}
	p, err := g.open(name, inputs{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.ensureInit(ctx); err != nil {
		return err
	}
	p.desk.Readable = append(p.desk.Readable, full)
	return p.apply(ctx, o, full)
}

func (p *place) apply(ctx context.Context, o *planned, file string) error {
	args := []string{"apply", "-input=false"}
	if !p.Colors(p.Out) {
		args = append(args, "-no-color")
	}
	if o.lockTimeout != "" {
		args = append(args, "-lock-timeout="+o.lockTimeout)
	}
	code, err := p.run(ctx, attended.Call{Args: append(args, file)})
	if err != nil {
		return err
	}
	if code != 0 {
		return ui.Exitf(ui.ExitRunFailed, "the apply of %s failed. The state has what was done before. See what is left:\n    yuba env plan %s", p.label(), p.label())
	}
	return nil
}
