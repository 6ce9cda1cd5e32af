// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"

	"github.com/hashicorp/hcl/v2"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/environments/targets"
	"github.com/yuba-dev/yuba/internal/runs/attended"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// verdict is what was found about a prerequisite.
type verdict string

const (
	met     verdict = "met"
	unmet   verdict = "missing"
	unknown verdict = "unknown"
)

// answer is a prerequisite with what was found.
type answer struct {
	Kind   string  `json:"kind"`
	What   string  `json:"what"`
	Result verdict `json:"result"`
	// Why says why it is not met or not known, Remedy what to do.
	Why    string `json:"why,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

// askTimeout limits one question.
const askTimeout = 30 * time.Second

func (g *group) newDoctorCommand() *cobra.Command {
	var in inputs
	var target string
	cmd := &cobra.Command{
		Use:   "doctor ENV",
		Short: "Check what must be there before an apply: tools, credentials, APIs, rights, quotas",
		Long: `Check one by one what must be there before an environment can be applied: values of variables, programs, credentials, enabled APIs,
rights and quotas, each with its remedy. Nothing is changed. Yuba runs the programs of the clouds (gcloud, aws, kubectl) with
your credentials. A check that they cannot make is shown as unknown, with the reason.

The target is that of yuba.yaml, or the one that fits the program's providers. The exit code is 1 if something is missing, and 5 if
something is unknown and nothing missing.`,
		Example: "  yuba env doctor staging\n  yuba env doctor staging --target fargate -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: g.complete,
	}
	in.flags(cmd)
	cmd.Flags().StringVar(&target, "target", "", "the target to check for")
	ui.Complete(cmd, "target", targets.Names()...)
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return g.within(args[0], in, func(p *place) error {
			t, err := p.target(target)
			if err != nil {
				return err
			}
			list := p.examine(cmd.Context(), t)
			if out.Machine() {
				err = out.Print(g.Out, map[string]any{"environment": p.label(), "target": t.Name, "items": list})
			} else {
				p.showAnswers(t, list)
			}
			return errors.Join(err, p.judge(list))
		})
	}
	return cmd
}

// target is the preset of the environment.
func (p *place) target(given string) (targets.Target, error) {
	name := given
	if name == "" {
		name = p.env.Target
	}
	if name == "" {
		needs := module.ReadProviders(p.fsys, p.env.Dir, module.ReadOptions{})
		var calls []string
		if read, err := module.NewCallReader(p.fsys, module.ReadOptions{}).Calls(p.env.Dir, true); err == nil {
			for _, c := range read {
				calls = append(calls, c.Source)
			}
		}
		name = targets.Guess(slices.Collect(maps.Keys(needs.Providers)), calls)
	}
	t, ok := targets.Named(name)
	if !ok {
		return t, ui.Exitf(ui.ExitNotFound, "check %s: there is no target %q. The targets are %s", p.label(), name, strings.Join(targets.Names(), ", "))
	}
	return t, nil
}

// examine asks the questions, one after another.
func (p *place) examine(ctx context.Context, t targets.Target) []answer {
	list := []answer{{Kind: "values", What: "a value for each variable", Result: met}}
	if err := p.checkValues(); err != nil {
		list[0].Result, list[0].Why, list[0].Remedy = unmet, err.Error(), "Set the values in "+path.Join(p.env.Dir, "terraform.tfvars")
		var wrong *ValuesError
		if errors.As(err, &wrong) {
			list[0].Why = wrong.Why()
			if remedy := wrong.Remedy(); remedy != "" {
				list[0].Remedy = remedy
			}
		}
		list[0].Why = ui.OneLine(list[0].Why)
	}
	known := p.literals()
	for _, q := range t.Prerequisites {
		a := answer{Kind: q.Kind, What: fill(q.What, known)}
		a.Result, a.Why = p.ask(ctx, q, known)
		if a.Result != met {
			a.Remedy = q.Remedy
		}
		list = append(list, a)
	}
	return list
}

// ask asks one question.
func (p *place) ask(ctx context.Context, q targets.Prerequisite, known map[string]string) (verdict, string) {
	program, err := exec.LookPath(q.Tool)
	if q.Tool == "tofu" {
		program, err = attended.Tool(p.tool)
	}
	switch {
	case err != nil && len(q.Command) == 0:
		return unmet, q.Tool + " is not on PATH"
	case err != nil:
		return unknown, "it cannot be asked: " + q.Tool + " is not on PATH"
	case len(q.Command) == 0:
		return met, ""
	}
	words, err := q.Ask(known)
	if err != nil {
		return unknown, err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, words[1:]...) //nolint:gosec // the cloud's own program, with a question of our presets
	cmd.WaitDelay = time.Second
	var said, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &problem
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return unknown, fmt.Sprintf("%s did not answer within %s", q.Tool, askTimeout)
	case err != nil && !errors.As(err, &exit):
		return unknown, err.Error()
	case err != nil && unreachable(problem.String()):
		return unknown, "the cloud cannot be reached: " + ui.FirstLine(strings.TrimSpace(problem.String()), 160)
	case err != nil:
		return unmet, ui.FirstLine(strings.TrimSpace(problem.String()+"\n"+said.String()), 160)
	case !strings.Contains(said.String(), q.Wants):
		return unmet, "the answer is " + ui.FirstLine(strings.TrimSpace(said.String())+" ", 80)
	}
	return met, ""
}

// unreachable reports whether a program of a cloud says that it has no network to it.
func unreachable(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"could not connect to the endpoint", "connection refused", "no such host", "name resolution", "network is unreachable", "i/o timeout", "max retries exceeded",
		"timed out", "unable to connect to the server"}, func(words string) bool { return strings.Contains(text, words) })
}

// fill puts known values into a text for people.
func fill(text string, known map[string]string) string {
	for name, value := range known {
		text = strings.ReplaceAll(text, "${"+name+"}", ui.OneLine(value))
	}
	return text
}

// literals are the values of variables that can be read without tofu: strings in the files of values, in
// flags and in defaults.
func (p *place) literals() map[string]string {
	known := map[string]string{}
	for name, v := range p.module.Variables {
		if text := strings.Trim(string(v.Default), "\""); len(v.Default) > 2 && v.Default[0] == '"' {
			known[name] = text
		}
	}
	names, _ := fs.Glob(p.fsys, path.Join(p.env.Dir, "*.tfvars")) //nolint:errcheck // the pattern is valid
	for _, name := range slices.Concat(names, p.env.VarFiles) {
		if base := path.Base(name); path.Dir(name) == p.env.Dir && base != "terraform.tfvars" && !strings.HasSuffix(base, ".auto.tfvars") && !slices.Contains(p.env.VarFiles, name) {
			continue
		}
		if text, err := fs.ReadFile(p.fsys, path.Clean(name)); err == nil {
			addLiterals(known, name, text)
		}
	}
	for _, e := range os.Environ() { //nolint:forbidigo // read, and given to nobody
		if name, ok := strings.CutPrefix(e, "TF_VAR_"); ok {
			name, value, _ := strings.Cut(name, "=")
			if v := p.module.Variables[name]; v != nil && !v.Sensitive {
				known[name] = value
			}
		}
	}
	for _, name := range p.given.files {
		if text, err := os.ReadFile(name); err == nil { //nolint:gosec // the person names it
			addLiterals(known, name, text)
		}
	}
	for _, v := range p.given.vars {
		name, value, _ := strings.Cut(v, "=")
		known[name] = value
	}
	return known
}

// addLiterals adds the strings of a file of values.
func addLiterals(known map[string]string, name string, text []byte) {
	if _, problems := module.Assignments(name, text); len(problems) > 0 {
		return // checkValues reports them
	}
	file, diags := hclsyntax.ParseConfig(text, name, hcl.InitialPos)
	if diags.HasErrors() || file == nil {
		return
	}
	attributes, _ := file.Body.JustAttributes()
	for name, a := range attributes {
		if value, diags := a.Expr.Value(nil); !diags.HasErrors() && value.Type() == cty.String && value.IsKnown() && !value.IsNull() {
			known[name] = value.AsString()
		}
	}
}

func (p *place) showAnswers(t targets.Target, list []answer) {
	p.print("%s on %s (%s)\n", p.label(), t.Name, t.Title)
	for _, a := range list {
		mark := map[verdict]string{met: "ok", unmet: "MISSING", unknown: "unknown"}[a.Result]
		p.print("  %-8s %-12s %s\n", mark, a.Kind, ui.OneLine(a.What))
		if a.Why != "" {
			p.print("           %s\n", ui.OneLine(a.Why))
		}
		if a.Remedy != "" {
			p.print("           Remedy: %s\n", a.Remedy)
		}
	}
}

// judge is the error that the answers end with.
func (p *place) judge(list []answer) error {
	count := map[verdict]int{}
	for _, a := range list {
		count[a.Result]++
	}
	switch {
	case count[unmet] > 0:
		return ui.Exitf(ui.ExitFailure, "check %s: %s missing, %d unknown", p.label(), ui.Count(count[unmet], "prerequisite"), count[unknown])
	case count[unknown] > 0:
		return ui.Exitf(ui.ExitWaiting, "check %s: nothing is known to be missing, %s unknown", p.label(), ui.Count(count[unknown], "prerequisite"))
	}
	return nil
}

func (g *group) newTargetsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "targets [TARGET]",
		Short: "Show the presets of targets: providers, identity, variables, prerequisites",
		Long: `Show the presets of targets: where environments run, which providers and versions a program for them has, as whom it acts, which
variables it brings, and what must be there first.`,
		Example: "  yuba env targets\n  yuba env targets fargate\n  yuba env targets -o json",
		Args:    ui.Arguments(0, 1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return targets.Names(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		list := targets.All()
		if len(args) == 1 {
			t, ok := targets.Named(args[0])
			if !ok {
				return ui.Exitf(ui.ExitNotFound, "there is no target %q. The targets are %s", args[0], strings.Join(targets.Names(), ", "))
			}
			list = []targets.Target{t}
			if out.Form == "" {
				out.Form = "yaml"
			}
		}
		switch {
		case out.Form == "name":
			for _, t := range list {
				g.print("%s\n", t.Name)
			}
			return nil
		case out.Machine():
			return out.Print(g.Out, map[string]any{"items": list})
		}
		rows := [][]string{{"TARGET", "RUNS ON", "STORAGE", "BUS", "PROVIDERS"}}
		for _, t := range list {
			rows = append(rows, []string{t.Name, t.Title, strings.Join(t.Storage, ","), strings.Join(t.Bus, ","), or(strings.Join(slices.Sorted(maps.Keys(t.Providers)), ","))})
		}
		return g.Table(rows, out)
	}
	return cmd
}
