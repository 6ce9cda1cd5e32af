// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/policy/rego"
)

var programs string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "judge-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	for module, pkg := range map[string]string{"../../../cmd/yuba-policy": ".", "../../..": "./cmd/yuba-sandbox"} {
		build := exec.Command("go", "build", "-C", module, "-o", dir+"/", pkg)
		build.Env = append(build.Environ(), "CGO_ENABLED=0") // as it is released, also with the race detector
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s in %s: %v\n%s", pkg, module, err, out)
			return 1
		}
	}
	programs = dir
	return m.Run()
}

// store is a blob store with the list that collecting needs.
type store struct{ *blob.Store }

func (s store) Keys(ctx context.Context, prefix string) (map[string]time.Time, error) {
	keys := map[string]time.Time{}
	for info, err := range s.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		keys[info.Key] = info.Modified
	}
	return keys, nil
}

func newEvaluator(t *testing.T) *Evaluator {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(t.Context(), "file://"+t.TempDir(), identity)
	if err != nil {
		t.Fatal(err)
	}
	e := &Evaluator{Store: store{blobs}, Engine: rego.NewEngine(func(name string) (string, error) { return filepath.Join(programs, name), nil })}
	t.Cleanup(func() {
		e.Engine.Close()
		_ = blobs.Close() // temporary
	})
	return e
}

const shownPlan = `{"format_version":"1.2","terraform_version":"1.12.6",
"planned_values":{"root_module":{}},"configuration":{"root_module":{"resources":[{"address":"aws_vpc.main","mode":"managed","type":"aws_vpc","name":"main","provider_config_key":"aws","schema_version":0}]},"provider_config":{"aws":{"name":"aws","full_name":"registry.opentofu.org/hashicorp/aws"}}},
"resource_changes":[{"address":"aws_vpc.main","mode":"managed","type":"aws_vpc","name":"main","provider_name":"registry.opentofu.org/hashicorp/aws",
"change":{"actions":["create"],"before":null,"after":{"cidr":"10.0.0.0/16"},"after_unknown":{"id":true},"before_sensitive":false,"after_sensitive":{}}}]}`

func policyOf(t *testing.T, e *Evaluator, rules string) *Definition {
	t.Helper()
	d, err := Define([]byte("apiVersion: yuba.dev/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: own}\nspec:\n  selector: {}\n  autoApprove: true\n  rules:\n" + rules))
	if err != nil {
		t.Fatal(err)
	}
	d.EvaluatedBy(e)
	return d
}

func TestCustomRules(t *testing.T) {
	e := newEvaluator(t)
	for sentence, c := range map[string]struct{ rules, opinion, message string }{
		"CEL passes": {`  - cel: facts.counts.total.create < 5`, Freed, "No policy has objections"},
		"CEL is violated": {`  - {cel: facts.counts.total.create < 1, message: nothing is created, onViolation: deny}`, Refused,
			"Denied by ClusterPolicy/own: cel-1: nothing is created"},
		"CEL reads an unknown value": {`  - {name: ids, cel: 'facts.changes.all(c, c.after.id != "x")'}`, Held,
			`ClusterPolicy/own: ids: facts.changes["aws_vpc.main"].after.id is unknown until the apply; the rule cannot be checked: not facts.changes`},
		"CEL with a mistake": {`  - cel: facts.change.size() == 0`, Held, "ClusterPolicy/own: cel-1: spec.rules[0].cel: facts has no field change"},
		"Rego passes":        {"  - rego: {inline: \"package main\\ndeny[msg] { input.resource_changes[_].type == `aws_db`; msg := `no` }\"}", Freed, "No policy"},
		"Rego denies": {"  - {onViolation: deny, rego: {inline: \"package main\\ndeny contains {`msg`: `no networks`, `address`: c.address} if { some c in input.facts.changes }\"}}", Refused,
			"Denied by ClusterPolicy/own: rego-1: aws_vpc.main: no networks"},
		"Rego warns, although the rule denies":      {"  - {onViolation: deny, rego: {inline: \"package main\\nwarn contains `careful` if { input.facts.stage == `Plan` }\"}}", Held, "ClusterPolicy/own: rego-1: careful"},
		"Rego that does not compile":                {"  - rego: {inline: \"package main\\ndeny contains x if true\"}", Held, "ClusterPolicy/own: rego-1: spec.rules[0].rego: inline.rego:2:15: var x is unsafe"},
		"Rego with an error, in a rule that denies": {"  - {onViolation: deny, rego: {inline: \"package main\\ndeny contains `x` if to_number(`x`) == 1\"}}", Refused, "spec.rules[0].rego: inline.rego:2:22: to_number"},
		"a source that was never there":             {"  - rego: {sourceRef: {kind: GitRepository, name: rules, namespace: flux}}", Held, "there are no rules from GitRepository/flux/rules yet"},
		"a source without a namespace":              {"  - rego: {sourceRef: {kind: GitRepository, name: rules}}", Held, "spec.rules[0].rego.sourceRef.namespace is missing"},
		"another rule still frees nothing":          {"  - rego: {inline: \"package main\\ndeny contains `no` if true\"}\n  - cel: facts.counts.total.create < 5", Held, "rego-1: no"},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := BindTo(policyOf(t, e, c.rules)).Plan(Subject{Namespace: "team-a", Name: "net"}, "uid",
				facts.Inputs{Stage: facts.StagePlan, Show: []byte(shownPlan)}, time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC))
			if Opinion(d) != c.opinion || !strings.Contains(d.Message, c.message) {
				t.Errorf("got  %s: %s\nwant %s: %s", Opinion(d), d.Message, c.opinion, c.message)
			}
		})
	}
}

// repository is a source that changes and disappears.
type repository struct {
	revision string
	files    map[string]string
}

func (r *repository) Files(context.Context, Source, string, func(string) bool) (string, map[string]string, error) {
	if r.files == nil {
		return "", nil, errors.New("GitRepository flux/rules is not there")
	}
	return r.revision, r.files, nil
}

func TestTheLastGoodRulesStay(t *testing.T) {
	source := &repository{"main@1", map[string]string{"p.rego": "package main\ndeny contains \"one\" if true"}}
	k := &Keeper{Judge: &Judge{Evaluator: newEvaluator(t)}, Sources: source}
	obj := &yubav1.ClusterPolicy{}
	obj.Name, obj.UID, obj.Generation = "own", "u", 1
	obj.Spec.OnViolation, obj.Spec.Enforcement = yubav1.PolicyDeny, yubav1.PolicyEnforce
	obj.Spec.Rules = []yubav1.PolicyRule{{Rego: &yubav1.PolicyRego{SourceRef: &yubav1.PolicySourceReference{Kind: "GitRepository", Namespace: "flux", Name: "rules"}}}}
	pass := func() (digest, condition, message string) {
		p, found := gatherBundles(t.Context(), k, obj, k.ofCluster)
		describe(obj, p, found)
		ready := obj.Status.Conditions[0]
		b := &Binding{policies: []*policy{p}}
		d := b.Plan(Subject{Namespace: "team-a", Name: "net"}, "uid", facts.Inputs{Stage: facts.StagePlan, Show: []byte(shownPlan)}, time.Now())
		return p.digest, string(ready.Status) + " " + ready.Reason + " " + ready.Message, d.Message
	}
	expect := func(what, got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", what, got, want)
		}
	}
	first, ready, message := pass()
	expect("the first rules", ready, "True InForce 1 rule")
	expect("the first rules", message, "Denied by ClusterPolicy/own: rego-1: one")

	source.revision, source.files = "main@2", map[string]string{"p.rego": "package main\ndeny contains \"two\" if true"}
	second, _, message := pass()
	expect("other rules", message, "rego-1: two")
	if first == second {
		t.Error("other rules have the digest of the first ones, so plans would not be judged again")
	}

	source.revision, source.files = "main@3", map[string]string{"p.rego": "package main\ndeny contains three if true"}
	_, ready, message = pass()
	expect("broken rules", ready, "False LastBundle spec.rules[0].rego: GitRepository/flux/rules at main@3: p.rego:2:15: var three is unsafe. The rules of revision main@2 (sha256:")
	expect("broken rules", message, "rego-1: two")

	source.files = nil
	k.Judge = &Judge{Evaluator: &Evaluator{Engine: k.Evaluator.Engine, Store: k.Evaluator.Store}} // a restart
	third, ready, message := pass()
	expect("no source", ready, "GitRepository flux/rules is not there. The rules of revision main@2")
	expect("no source", message, "rego-1: two")
	if second != third {
		t.Error("the same rules have another digest")
	}

	if err := k.Evaluator.Store.Delete(t.Context(), bundleKey(obj.Status.Bundles[0].Digest)); err != nil {
		t.Fatal(err)
	}
	k.Judge = &Judge{Evaluator: &Evaluator{Engine: k.Evaluator.Engine, Store: k.Evaluator.Store}}
	_, _, message = pass()
	expect("lost rules", message, "Denied by ClusterPolicy/own: rego-1: spec.rules[0].rego: read the rules of GitRepository/flux/rules at main@2")
}
