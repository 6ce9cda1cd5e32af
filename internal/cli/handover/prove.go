// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// findTool finds the program for the proof.
func findTool(name string) (string, error) {
	if name != "" {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", ui.Exitf(ui.ExitFailure, "find the program for the proof: %w", err)
		}
		return filepath.Abs(path)
	}
	for _, name := range []string{"tofu", "terraform"} {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "tofu")
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	return "", ui.Exitf(ui.ExitFailure, "there is neither tofu nor terraform on PATH for the proof. Name it with --tool, or hand over without a proof: --no-proof")
}

// prover makes a plan as the new owner would. The program and its providers are whatever the stack's authors wrote,
// so they see neither the caller's files nor the caller's settings.
type prover struct {
	tool, module string
	// program is the directory that they may write, beside a home directory that is removed afterwards.
	program string
	cage    cage
	content *content
	secrets bool
	home    string
}

// variableText is the value of a variable in an environment: strings stand as they are.
func variableText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// output of the tool is cut in messages.
const maxOutput = 4000

func (p *prover) call(ctx context.Context, args ...string) (out []byte, code int, err error) {
	cmd := p.cage.command(ctx, []string{p.program, p.home}, p.tool, args...)
	cmd.Dir, cmd.Env = p.module, p.environment()
	var stdout, all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &all
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
		text := all.String() + stdout.String()
		if code == 2 && args[0] == "plan" {
			return stdout.Bytes(), code, nil
		}
		return nil, code, fmt.Errorf("%s %s in %s: %s", filepath.Base(p.tool), args[0], p.module, diagnostic.Printable(strings.TrimSpace(text[max(0, len(text)-maxOutput):])))
	}
	return stdout.Bytes(), code, err
}

// clean removes what the proof leaves: the owner initialises the directory.
func (p *prover) clean(planFile string) error {
	errs := []error{os.RemoveAll(filepath.Join(p.module, ".terraform"))}
	if err := os.Remove(planFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

const planName = ".yuba-proof.tfplan"

func (p *prover) plan(ctx context.Context) (plan *shownPlan, err error) {
	if err := p.settle(); err != nil {
		return nil, fmt.Errorf("prove the directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.home)) }()
	planFile := filepath.Join(p.module, planName)
	if _, _, err := p.call(ctx, "init", "-input=false", "-no-color"); err != nil {
		return nil, fmt.Errorf("prove the directory: %w", err)
	}
	if _, _, err := p.call(ctx, "plan", "-input=false", "-no-color", "-lock=false", "-out="+planName, "-detailed-exitcode"); err != nil {
		return nil, fmt.Errorf("prove the directory: %w", errors.Join(err, p.clean(planFile)))
	}
	document, _, err := p.call(ctx, "show", "-json", planName)
	if err = errors.Join(err, p.clean(planFile)); err != nil {
		return nil, fmt.Errorf("prove the directory: %w", err)
	}
	// The tool prints warnings about its own configuration before the document.
	if i := bytes.Index(document, []byte("{\"format_version\"")); i > 0 {
		document = document[i:]
	}
	plan = &shownPlan{}
	if err := json.Unmarshal(document, plan); err != nil {
		return nil, fmt.Errorf("prove the directory: read the plan: %w", err)
	}
	return plan, nil
}

// shownPlan is the part of "tofu show -json" that the proof needs.
type shownPlan struct {
	ResourceChanges []struct {
		Address string `json:"address"`
		Change  struct {
			shownChange
			Importing json.RawMessage `json:"importing"`
		} `json:"change"`
	} `json:"resource_changes"`
	OutputChanges map[string]shownChange `json:"output_changes"`
}

type shownChange struct {
	Actions []string `json:"actions"`
}

// changes reports whether anything is changed: reads are not.
func (c shownChange) changes() bool {
	return slices.ContainsFunc(c.Actions, func(action string) bool { return action != "no-op" && action != "read" })
}

// differences are the changes of a plan, without reads.
func differences(plan *shownPlan) (changes []string, imports []string) {
	for _, r := range plan.ResourceChanges {
		if len(r.Change.Importing) > 0 {
			imports = append(imports, r.Address)
		}
		if r.Change.changes() {
			changes = append(changes, fmt.Sprintf("%s (%v)", r.Address, r.Change.Actions))
		}
	}
	return changes, imports
}

// provesNoChanges demands a plan that changes neither resources nor outputs.
func (p *prover) provesNoChanges(ctx context.Context) (string, error) {
	plan, err := p.plan(ctx)
	if err != nil {
		return "", err
	}
	changes, _ := differences(plan)
	for name, o := range plan.OutputChanges {
		if o.changes() {
			changes = append(changes, "output "+name)
		}
	}
	if len(changes) > 0 {
		slices.Sort(changes)
		return "", fmt.Errorf("a plan in the directory has changes: %s. Apply or correct them first (undo, and see \"yuba replan\"), or hand over nevertheless: --no-proof", ui.SomeOf(changes, 10))
	}
	return "a plan in the directory finds no changes", nil
}

// provesImports demands a plan that imports, and changes nothing.
func (p *prover) provesImports(ctx context.Context, all []resource, leave []string) (string, error) {
	plan, err := p.plan(ctx)
	if err != nil {
		return "", fmt.Errorf("%w\nProviders cannot import every kind of resource. Leave such ones out with --leave ADDRESS", err)
	}
	changes, imports := differences(plan)
	changes = slices.DeleteFunc(changes, func(change string) bool {
		return slices.ContainsFunc(leave, func(address string) bool { return strings.HasPrefix(change, address+" (") })
	})
	if len(changes) > 0 {
		slices.Sort(changes)
		return "", fmt.Errorf("the import would change resources: %s. Their providers do not read all attributes of an imported one (terraform_data is such a kind). Leave them out with --leave ADDRESS, or hand over nevertheless: --no-proof", ui.SomeOf(changes, 10))
	}
	for _, r := range all {
		if r.imports(leave) && !slices.Contains(imports, r.Address) {
			return "", fmt.Errorf("the plan does not import %s", r.Address)
		}
	}
	return fmt.Sprintf("a plan in the directory imports %s and changes nothing", ui.Count(len(imports), "resource")), nil
}
