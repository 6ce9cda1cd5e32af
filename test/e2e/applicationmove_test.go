// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

// A move takes an instance, its stack and its definition to another home, where nothing runs for it, and
// back. Each stack is destroyed once.
func TestAnInstanceMovesWithItsStack(t *testing.T) {
	t.Parallel()
	from, to := alone(t), alone(t)
	ns := from.namespace(t)
	// The kind has the name of a kind of Flux.
	from.offer(t, "Bucket", planDefinition)
	from.offer(t, "Case", composedDefinition)
	left := from.use(t, ns, "Bucket", "one", map[string]any{}, nil)
	from.reaches(t, ns, "Bucket", "one", appv1.PhaseReady, "")
	from.use(t, ns, "Case", "two", map[string]any{}, nil)
	from.reaches(t, ns, "Case", "two", appv1.PhaseReady, "")
	was, wasPart := from.stackOf(t, ns, "bucket-one"), from.stackOf(t, ns, "case-two-net")

	plan, _, _ := from.run(t, "move", "--from", from.dir, "--to", to.dir, "-n", ns, "--dry-run")
	for _, line := range []string{"create    ApplicationDefinition bucket\n", "create    Bucket.apps.cozystack.io one\n", "create    Terraform bucket-one\n"} {
		if !strings.Contains(plan, line) {
			t.Errorf("the plan lacks %q:\n%s", line, plan)
		}
	}
	from.do(t, "move", "--from", from.dir, "--to", to.dir, "-n", ns, "--yes")
	from.reaches(t, ns, "Bucket", "one", appv1.PhasePending, "Moved to")
	from.reaches(t, ns, "Case", "two", appv1.PhasePending, "Moved to")

	to.reaches(t, ns, "Bucket", "one", appv1.PhaseReady, "")
	to.reaches(t, ns, "Case", "two", appv1.PhaseReady, "")
	o, _, err := to.instanceOf(t, ns, "Bucket", "one")
	if err != nil {
		t.Fatal(err)
	}
	now, nowPart := to.stackOf(t, ns, "bucket-one"), to.stackOf(t, ns, "case-two-net")
	if len(now.OwnerReferences) != 1 || now.OwnerReferences[0].UID != o.GetUID() {
		t.Errorf("the stack is %+v", now.ObjectMeta)
	}
	for _, pair := range [][2]*infrav1.Terraform{{was, now}, {wasPart, nowPart}} {
		if before, after := pair[0].Status.LastRun, pair[1].Status.LastRun; before == nil || after == nil || before.ID != after.ID {
			t.Errorf("the last run of %s was %v, and is %v", pair[0].Name, before, after)
		}
	}

	// Back, and there again.
	to.do(t, "move", "--from", to.dir, "--to", from.dir, "-n", ns, "--yes")
	from.reaches(t, ns, "Bucket", "one", appv1.PhaseReady, "")
	to.reaches(t, ns, "Bucket", "one", appv1.PhasePending, "Moved to")
	from.do(t, "move", "--from", from.dir, "--to", to.dir, "-n", ns, "--yes")
	to.reaches(t, ns, "Bucket", "one", appv1.PhaseReady, "")

	from.delete(t, left)
	from.leaves(t, ns, "Bucket", "one")
	now = to.stackOf(t, ns, "bucket-one")
	if n := to.resources(t, now); n != 1 {
		t.Errorf("%d resources are in the state, want 1", n)
	}
	to.delete(t, o)
	to.leaves(t, ns, "Bucket", "one")
	if n := to.resources(t, now); n != 0 {
		t.Errorf("%d resources are left", n)
	}
}

const composedDefinition = `
metadata: {name: KIND}
spec:
  application: {kind: KIND, plural: KINDs, singular: KIND, openAPISchema: '{"type":"object"}'}
  backend:
    type: Composition
    composition:
      prefix: KIND-
      resources:
        - id: net
          template:
            apiVersion: infra.contrib.fluxcd.io/v1alpha2
            kind: Terraform
            spec:
              approvePlan: auto
              inline: {main.tf: "resource \"terraform_data\" \"it\" {}\noutput \"id\" { value = \"net-1\" }\n"}
        - id: note
          template:
            apiVersion: v1
            kind: ConfigMap
            data: {net: "${resources.net.outputs.id}"}
`

// A definition of the same name that means something else is a conflict, and nothing is changed.
func TestAMoveRefusesAnotherDefinitionOfTheName(t *testing.T) {
	t.Parallel()
	from, to := alone(t), alone(t)
	ns := from.namespace(t)
	from.offer(t, "Parcel", planDefinition)
	to.offer(t, "Parcel", strings.Replace(planDefinition, "terraform_data\" \"it\"", "terraform_data\" \"other\"", 1))
	from.use(t, ns, "Parcel", "one", map[string]any{}, nil)
	from.reaches(t, ns, "Parcel", "one", appv1.PhaseReady, "")
	out, news, code := from.run(t, "move", "--from", from.dir, "--to", to.dir, "-n", ns, "--yes")
	if code != 5 || !strings.Contains(out+news, "conflict  ApplicationDefinition parcel: "+to.dir+" has another definition of that name. Make both equal") {
		t.Errorf("code %d: %s%s", code, out, news)
	}
	from.reaches(t, ns, "Parcel", "one", appv1.PhaseReady, "")
}
