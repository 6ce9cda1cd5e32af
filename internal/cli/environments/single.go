// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/environments/library"
	"github.com/yuba-dev/yuba/internal/runs/attended"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// within opens an environment for a command, and closes it.
func (g *group) within(name string, in inputs, do func(*place) error) (err error) {
	p, err := g.open(name, in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	return do(p)
}

func (g *group) newInitCommand() *cobra.Command {
	var upgrade, reconfigure, migrate bool
	var config []string
	cmd := &cobra.Command{
		Use:   "init ENV",
		Short: "Install modules and providers of an environment, and configure its backend",
		Long: `Install modules and providers of an environment, and configure its backend. The other commands do so when it is needed;
use this one to upgrade, and when the backend changed.`,
		Example: "  yuba env init staging\n  yuba env init staging --upgrade\n  yuba env init staging --migrate-state",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: g.complete,
	}
	flags := cmd.Flags()
	flags.BoolVar(&upgrade, "upgrade", false, "install the newest versions that the constraints allow")
	flags.BoolVar(&reconfigure, "reconfigure", false, "use the backend as it is configured now, and leave the state where it was")
	flags.BoolVar(&migrate, "migrate-state", false, "copy the state to the backend that is configured now")
	flags.StringArrayVar(&config, "backend-config", nil, "a setting of the backend as NAME=VALUE, or a file of them; can be repeated")
	cmd.MarkFlagsMutuallyExclusive("reconfigure", "migrate-state")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return g.within(args[0], inputs{}, func(p *place) error {
			var more []string
			if upgrade {
				more = append(more, "-upgrade")
			}
			if reconfigure {
				more = append(more, "-reconfigure")
			}
			if migrate {
				more = append(more, "-migrate-state", "-force-copy")
			}
			for _, setting := range config {
				if !strings.Contains(setting, "=") {
					full, err := filepath.Abs(setting)
					if err != nil {
						return err
					}
					p.desk.Readable, setting = append(p.desk.Readable, full), full
				}
				more = append(more, "-backend-config="+setting)
			}
			if err := p.init(cmd.Context(), more, true); err != nil || len(config) == 0 && !reconfigure && !migrate {
				return err
			}
			return p.rememberBackend(config)
		})
	}
	return cmd
}

func (g *group) newValidateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate [ENV]...",
		Short: "Check the configuration of environments, without their states",
		Long: `Check the configuration of environments, by default of all: first what their modules pass to each other ("yuba modules check"), then
with "tofu validate". Neither needs a backend, a state or values.`,
		Example: "  yuba env validate\n  yuba env validate staging",
		Args:    ui.Arguments(0, -1),
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return g.complete(cmd, nil, word)
		},
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			c, err := g.catalog()
			if err != nil {
				return err
			}
			for _, e := range c.Environments {
				args = append(args, e.Name)
			}
		}
		var failed []string
		for _, name := range args {
			err := g.within(name, inputs{}, func(p *place) error { return p.validate(cmd.Context()) })
			if ui.IsNotFound(err) || cmd.Context().Err() != nil {
				return err
			}
			if err != nil {
				g.News("%s: %s", name, err)
				failed = append(failed, name)
				continue
			}
			g.print("%s: valid\n", name)
		}
		if len(failed) > 0 {
			return ui.Exitf(ui.ExitFailure, "validate %s: %s not valid: %s", ui.Count(len(args), "environment"), ui.Count(len(failed), "environment"), strings.Join(failed, ", "))
		}
		return nil
	}
	return cmd
}

// validate checks an environment. It leaves nothing in the directory that was not there.
func (p *place) validate(ctx context.Context) (err error) {
	if err := p.interfaces(); err != nil {
		return err
	}
	data := ""
	if !p.initialised() {
		data = p.desk.Private("data")
		undo := p.keepLockFile()
		defer func() { err = errors.Join(err, undo()) }()
		var said strings.Builder
		code, err := p.run(ctx, attended.Call{Args: []string{"init", "-backend=false", "-input=false", "-no-color"}, Installs: true, Data: data, Out: &said, Errors: &said})
		if err != nil {
			return err
		}
		if code != 0 {
			return fmt.Errorf("init failed:\n%s", said.String())
		}
	}
	var said strings.Builder
	code, err := p.run(ctx, attended.Call{Args: []string{"validate", "-no-color"}, Data: data, Out: &said, Errors: &said})
	if err == nil && code != 0 {
		err = fmt.Errorf("it is not valid:\n%s", said.String())
	}
	return err
}

// interfaces checks what the modules that the environment calls pass to each other.
func (p *place) interfaces() error {
	l, err := library.Read(p.fsys)
	if err != nil {
		return err
	}
	reached := map[string]bool{p.env.Dir: true}
	for _, e := range l.Edges(p.env.Dir) {
		reached[e.From], reached[e.To] = true, true
	}
	var wrong []string
	for _, f := range l.Check() {
		if reached[f.Module] && f.Severity == diagnostic.Error {
			wrong = append(wrong, fmt.Sprintf("    %s: %s: %s (%s)", ui.OneLine(f.Place()), ui.OneLine(f.Subject), ui.OneLine(f.Message), f.Code))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("its modules do not fit:\n%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// keepLockFile returns what removes the lock file again, if it is not there now.
func (p *place) keepLockFile() (undo func() error) {
	name := filepath.Join(p.dir(), ".terraform.lock.hcl")
	if _, err := os.Lstat(name); err == nil {
		return func() error { return nil }
	}
	return func() error {
		if err := os.Remove(name); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
}

func (g *group) newOutputCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "output ENV [NAME]", Aliases: []string{"outputs"},
		Short: "Show the outputs of an environment",
		Long: `Show the outputs of an environment. Sensitive values are hidden, unless one output is named. With a name and without -o, a string is
printed as it is, for scripts.`,
		Example: "  yuba env output staging\n  yuba env output staging url\n  yuba env output staging -o json",
		Args:    ui.Arguments(1, 2), ValidArgsFunction: g.complete,
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return g.within(args[0], inputs{}, func(p *place) error {
			if err := p.ensureInit(cmd.Context()); err != nil {
				return err
			}
			var text strings.Builder
			code, err := p.run(cmd.Context(), attended.Call{Args: []string{"output", "-json", "-no-color"}, Out: &text})
			if err != nil {
				return err
			}
			if code != 0 {
				return ui.Exitf(ui.ExitRunFailed, "read the outputs of %s: tofu output failed", p.label())
			}
			var outputs map[string]output
			if err := json.Unmarshal([]byte(text.String()[max(0, strings.Index(text.String(), "{")):]), &outputs); err != nil {
				return fmt.Errorf("read the outputs of %s: %w", p.label(), err)
			}
			return p.printOutputs(outputs, args[1:], out)
		})
	}
	return cmd
}

// output is an output as in "tofu output -json".
type output struct {
	Sensitive bool            `json:"sensitive"`
	Type      json.RawMessage `json:"type"`
	Value     json.RawMessage `json:"value,omitempty"`
}

func (p *place) printOutputs(outputs map[string]output, names []string, out *ui.Output) error {
	if len(names) == 1 {
		o, there := outputs[names[0]]
		if !there {
			return ui.Exitf(ui.ExitNotFound, "%s has no output %q. It has %s", p.label(), names[0], ui.SomeOf(slices.Sorted(maps.Keys(outputs)), 10))
		}
		var text string
		if !out.Machine() && json.Unmarshal(o.Value, &text) == nil {
			p.print("%s\n", text)
			return nil
		}
		var value any
		if err := json.Unmarshal(o.Value, &value); err != nil {
			return err
		}
		if !out.Machine() {
			out = &ui.Output{Form: "json"}
		}
		return out.Print(p.Out, value)
	}
	if out.Machine() {
		for name, o := range outputs {
			if o.Sensitive {
				o.Value = nil
				outputs[name] = o
			}
		}
		return out.Print(p.Out, outputs)
	}
	if len(outputs) == 0 {
		p.News("%s has no outputs: it has none, or nothing was applied yet.", p.label())
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		text := string(outputs[name].Value)
		if outputs[name].Sensitive {
			text = "(sensitive; shown with \"yuba env output " + p.label() + " " + name + "\")"
		}
		p.print("%s = %s\n", name, text)
	}
	return nil
}

func (g *group) newConsoleCommand() *cobra.Command {
	var in inputs
	cmd := &cobra.Command{
		Use:     "console ENV",
		Short:   "Evaluate expressions with the state and the values of an environment",
		Long:    "Evaluate expressions with the state and the values of an environment: on a terminal one after another, else those of standard input.",
		Example: "  yuba env console staging\n  echo 'module.shop.url' | yuba env console staging",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: g.complete,
	}
	in.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return g.within(args[0], in, func(p *place) error {
			if err := p.checkValues(); err != nil {
				return err
			}
			if err := p.ensureInit(cmd.Context()); err != nil {
				return err
			}
			given, err := p.varArgs()
			if err != nil {
				return err
			}
			code, err := p.run(cmd.Context(), attended.Call{Args: append([]string{"console"}, given...), Stdin: p.In, Interactive: p.Interactive()})
			if err == nil && code != 0 {
				err = ui.Exitf(ui.ExitRunFailed, "the console of %s ended with code %d", p.label(), code)
			}
			return err
		})
	}
	return cmd
}

func (g *group) newTofuCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tofu ENV COMMAND [ARG]...",
		Short: "Run any other command of tofu in an environment",
		Long: `Run any other command of tofu in an environment, confined: state list, import, force-unlock, providers lock, graph, workspace. The
exit code is 4 if tofu failed. tofu asks no questions; commands that ask need their own flag, such as -force.`,
		Example: "  yuba env tofu staging state list\n  yuba env tofu staging import module.shop.aws_s3_bucket.data shop-data\n  yuba env tofu staging force-unlock -force ID",
		Args:    ui.Arguments(2, -1), ValidArgsFunction: g.complete,
	}
	cmd.Flags().SetInterspersed(false)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return g.within(args[0], inputs{}, func(p *place) error {
			words, err := p.withValues(args[1:])
			if err != nil {
				return err
			}
			call := attended.Call{Args: words, Stdin: p.In, Installs: installs(args[1:])}
			if args[1] != "init" && args[1] != "version" {
				if err := p.ensureInit(cmd.Context()); err != nil {
					return err
				}
			}
			code, err := p.run(cmd.Context(), call)
			if err == nil && code != 0 {
				err = ui.Exitf(ui.ExitRunFailed, "tofu %s in %s ended with code %d", args[1], p.label(), code)
			}
			return err
		})
	}
	return cmd
}

// withValues adds the files of values that yuba.yaml names to a command that evaluates the program. Those of
// plan and apply are commands of their own.
func (p *place) withValues(args []string) ([]string, error) {
	switch args[0] {
	case "import", "refresh", "console":
		given, err := p.varArgs()
		return slices.Concat(args[:1], given, args[1:]), err
	}
	return args, nil
}

// installs reports whether a command of tofu downloads, and runs no provider: "providers schema" does.
func installs(args []string) bool {
	switch args[0] {
	case "init", "get":
		return true
	case "providers":
		return len(args) > 1 && (args[1] == "lock" || args[1] == "mirror")
	}
	return false
}
