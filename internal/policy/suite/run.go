// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/decide"
	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/policy/judge"
	"github.com/yuba-dev/yuba/internal/policy/rego"
)

// Result is the answer to one case, or to one policy that was checked.
type Result struct {
	File string `json:"file"`
	Name string `json:"name"`
	// Problems are empty if the test passes.
	Problems []string `json:"problems,omitempty"`
	// Decision and Findings are what the policies decided.
	Decision string             `json:"decision,omitempty"`
	Findings []decide.Violation `json:"findings,omitempty"`
}

// Passed reports whether nothing is wrong.
func (r *Result) Passed() bool { return len(r.Problems) == 0 }

// Run checks the policies at and below the paths, and runs their suites, at a time. The engine evaluates
// rules in Rego; nil for none, and then they let nothing pass.
func Run(ctx context.Context, engine *rego.Engine, paths []string, now time.Time) ([]Result, error) {
	all, err := find(paths)
	if err != nil {
		return nil, err
	}
	results := all.problems
	for _, p := range all.policies {
		problems := p.definition.Problems()
		if engine != nil && len(p.definition.RegoSources()) == 0 { // those of sources are tested with a suite
			p.definition.EvaluatedBy(&judge.Evaluator{Engine: engine})
			problems = append(problems, p.definition.Compile(ctx)...)
		}
		results = append(results, Result{File: p.path, Name: p.definition.String(), Problems: problems})
	}
	for _, s := range all.suites {
		results = append(results, s.run(ctx, engine, now)...)
	}
	return results, ctx.Err()
}

// run runs the cases of a suite.
func (s *suiteFile) run(ctx context.Context, engine *rego.Engine, now time.Time) []Result {
	policies, err := s.policies()
	if err == nil && engine != nil {
		err = s.connect(ctx, engine, policies)
	}
	switch {
	case err != nil:
	case len(policies) == 0:
		err = errors.New("there is no Policy or ClusterPolicy in the directory. Name files with policies")
	case len(s.Tests) == 0:
		err = errors.New("there are no tests")
	}
	if err != nil {
		return []Result{{File: s.path, Name: Kind, Problems: lines(err)}}
	}
	var results []Result
	for i := range s.Tests {
		if ctx.Err() != nil {
			break
		}
		c := &s.Tests[i]
		r := Result{File: s.path, Name: cmp.Or(c.Name, fmt.Sprintf("tests[%d]", i))}
		if err := s.judge(c, policies, now, &r); err != nil {
			r.Problems = lines(err)
		}
		results = append(results, r)
	}
	return results
}

// connect gives the policies what evaluates their rules in Rego, with those of sources from directories
// beside the suite.
func (s *suiteFile) connect(ctx context.Context, engine *rego.Engine, policies []*judge.Definition) error {
	kept := judge.MemoryStore{}
	evaluator := &judge.Evaluator{Engine: engine, Store: kept}
	var wrong []error
	used := map[string]bool{}
	for _, p := range policies {
		for _, at := range p.RegoSources() {
			used[at[0]] = true
			bundle, err := s.bundle(at[0], at[1])
			if err == nil {
				err = kept.Add(bundle)
			}
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %w", p, err))
				continue
			}
			p.WithSource(at[0], at[1], bundle)
		}
		p.EvaluatedBy(evaluator)
		if len(wrong) == 0 {
			for _, problem := range p.Compile(ctx) {
				wrong = append(wrong, fmt.Errorf("%s: %s", p, problem))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Sources)) {
		if !used[name] {
			wrong = append(wrong, fmt.Errorf("sources names %s, which no policy of the suite reads", name))
		}
	}
	return errors.Join(wrong...)
}

// bundle reads the rules of a source from the directory that stands for it.
func (s *suiteFile) bundle(source, within string) (*rego.Bundle, error) {
	name, there := s.Sources[source]
	if !there {
		return nil, fmt.Errorf("it reads rules from %s. Name the directory with its files in the test: sources: {%s: DIR}", source, source)
	}
	dir, err := beside(s.path, name)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // read only
	files, err := fs.Sub(root.FS(), path.Join(filepath.Base(dir), within))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", dir, err)
	}
	return rego.ReadBundle(files)
}

// policies reads the policies of the suite.
func (s *suiteFile) policies() (all []*judge.Definition, err error) {
	files := make([]string, 0, len(s.Policies))
	for _, name := range s.Policies {
		file, err := beside(s.path, name)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	named := len(files) > 0
	if !named {
		for _, pattern := range []string{"*.yaml", "*.yml"} {
			matches, err := filepath.Glob(filepath.Join(filepath.Dir(s.path), pattern))
			if err != nil {
				return nil, err
			}
			files = append(files, matches...)
		}
	}
	for _, file := range files {
		documents, err := documentsOf(file)
		if err != nil {
			return nil, err
		}
		before := len(all)
		for _, document := range documents {
			if !judge.IsPolicy(document) {
				continue
			}
			d, err := judge.Define(document)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			all = append(all, d)
		}
		if named && len(all) == before {
			return nil, fmt.Errorf("%s has no Policy or ClusterPolicy", file)
		}
	}
	return all, nil
}

var decisions = []string{judge.Freed, judge.Passed, judge.Held, judge.Refused}

// judge judges the plan of a case, and compares.
func (s *suiteFile) judge(c *Case, policies []*judge.Definition, now time.Time, r *Result) error {
	if !slices.Contains(decisions, c.Expect.Decision) {
		return fmt.Errorf("expect.decision is %q, expected %s", c.Expect.Decision, strings.Join(decisions, ", "))
	}
	in, err := s.inputs(c)
	if err != nil {
		return err
	}
	subject := judge.Subject{Namespace: in.Stack.Namespace, Name: in.Stack.Name, Labels: in.Stack.Labels}
	var binding []*judge.Definition
	for _, p := range policies {
		if p = p.In(subject.Namespace); p.Selects(subject, c.NamespaceLabels) {
			binding = append(binding, p)
		}
	}
	if !c.At.IsZero() {
		now = c.At
	}
	d := judge.BindTo(binding...).Plan(subject, "", in, now)
	r.Decision, r.Findings = judge.Opinion(d), append(slices.Clone(d.Violations), d.Audited...)
	var wrong []error
	if r.Decision != c.Expect.Decision {
		wrong = append(wrong, fmt.Errorf("the decision is %s, expected %s: %s", r.Decision, c.Expect.Decision, d.Message))
	}
	if c.Expect.Findings != nil {
		wrong = append(wrong, compare(*c.Expect.Findings, r.Findings)...)
	}
	return errors.Join(wrong...)
}

// inputs reads the files of a case.
func (s *suiteFile) inputs(c *Case) (in facts.Inputs, err error) {
	if c.Plan == "" {
		return in, errors.New("plan is missing: name a file with the output of `tofu show -json PLAN`")
	}
	in = facts.Inputs{Stage: cmp.Or(c.Stage, facts.StagePlan), Stack: c.Stack, Run: c.Run}
	if in.Stage != facts.StagePlan && in.Stage != facts.StageDrift {
		return in, fmt.Errorf("stage is %q, expected %s or %s", in.Stage, facts.StagePlan, facts.StageDrift)
	}
	in.Stack.Namespace, in.Stack.Name = cmp.Or(c.Stack.Namespace, "default"), cmp.Or(c.Stack.Name, "test")
	for name, into := range map[string]*[]byte{c.Plan: &in.Show, c.LockFile: &in.LockFile, c.Modules: &in.ModuleList} {
		if name == "" {
			continue
		}
		path, err := beside(s.path, name)
		if err == nil {
			*into, err = readFile(path, maxPlan)
		}
		if err != nil {
			return in, err
		}
	}
	return in, nil
}

// compare finds the differences between expected findings and others.
func compare(expected []ExpectedFinding, findings []decide.Violation) (wrong []error) {
	for _, e := range expected {
		if !slices.ContainsFunc(findings, e.matches) {
			wrong = append(wrong, fmt.Errorf("there is no finding %s", e.text()))
		}
	}
	for _, f := range findings {
		if !slices.ContainsFunc(expected, func(e ExpectedFinding) bool { return e.matches(f) }) {
			wrong = append(wrong, fmt.Errorf("the finding was not expected: %s", strings.Join(slices.DeleteFunc([]string{f.Policy, f.Rule, f.Address, f.Message}, func(t string) bool { return t == "" }), ": ")))
		}
	}
	return wrong
}

func (e ExpectedFinding) matches(f decide.Violation) bool {
	return (e.Policy == "" || e.Policy == f.Policy) && (e.Rule == "" || e.Rule == f.Rule) && (e.Address == "" || decide.Matches(e.Address, f.Address)) &&
		strings.Contains(f.Message, e.Message)
}

func (e ExpectedFinding) text() string {
	var parts []string
	for _, part := range [][2]string{{"of policy", e.Policy}, {"of rule", e.Rule}, {"about", e.Address}, {"with the message", e.Message}} {
		if part[1] != "" {
			parts = append(parts, part[0]+" "+part[1])
		}
	}
	return cmp.Or(strings.Join(parts, " "), "at all")
}
