// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// connected makes stacks: network → cluster → app by a contract and a Secret, and jobs after app.
func connected(t *testing.T, namespace string) {
	t.Helper()
	network, cluster, app, jobs := spec(), spec(), spec(), spec()
	network.Publishes = []infrav1.Publication{{Contract: "base", Version: "1.2.0", Value: "base"}}
	cluster.Consumes = []infrav1.Consumption{{Contract: "base", Version: "~> 1.2", From: infrav1.ProducerReference{Name: "network"}, As: "base"}}
	cluster.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: "cluster-outputs"}
	app.VarsFrom = []infrav1.VarsReference{{Kind: "Secret", Name: "cluster-outputs"}}
	jobs.DependsOn = []fluxmeta.NamespacedObjectReference{{Name: "app"}, {Name: "gone"}}
	for name, s := range map[string]infrav1.TerraformSpec{"network": network, "cluster": cluster, "app": app, "jobs": jobs, "alone": spec()} {
		put(t, &infrav1.Terraform{ObjectMeta: named(namespace, name), Spec: s})
	}
}

func spec() infrav1.TerraformSpec {
	return infrav1.TerraformSpec{Interval: metav1.Duration{Duration: time.Hour}, SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "team"}}
}

func TestTheGraphOfStacks(t *testing.T) {
	ns := apitest.Namespace(t)
	yuba(t, ns, "graph").want(t, ui.ExitOK, "", "No stacks found")
	connected(t, ns)
	want := strings.ReplaceAll(`PRODUCER CONSUMER BY THROUGH
@/app @/jobs dependsOn
@/cluster @/app outputs Secret cluster-outputs
@/gone (missing) @/jobs dependsOn
@/network @/cluster contract base ~> 1.2`, "@", ns)
	if got := yuba(t, ns, "graph"); fieldsOf(got.out) != fieldsOf(want) || got.code != ui.ExitOK {
		t.Errorf("got %d:\n%s%s", got.code, got.out, got.news)
	}
	want = strings.ReplaceAll(`flowchart LR
  s0["@/alone"]
  s1["@/app"]
  s2["@/cluster"]
  s3["@/gone (missing)"]:::missing
  s4["@/jobs"]
  s5["@/network"]
  s1 -.->|"dependsOn"| s4
  s2 -->|"Secret cluster-outputs"| s1
  s3 -.->|"dependsOn"| s4
  s5 -->|"base ~#gt; 1.2"| s2
  classDef missing stroke-dasharray: 5 5
`, "@", ns)
	if got := yuba(t, ns, "graph", "-o", "mermaid"); got.out != want {
		t.Errorf("got %d:\n%s%s", got.code, got.out, got.news)
	}
	var focused struct {
		Stacks []struct{ Name string }
		Edges  []struct{ Producer, Consumer, Kind string }
	}
	if got := yuba(t, ns, "graph", "cluster", "-o", "json"); json.Unmarshal([]byte(got.out), &focused) != nil || len(focused.Stacks) != 4 || len(focused.Edges) != 3 {
		t.Errorf("around cluster: got %d:\n%s%s", got.code, got.out, got.news)
	}
	yuba(t, ns, "graph", "nothing").want(t, ui.ExitNotFound, "", "nothing")
}

func TestTheImpactOfAStack(t *testing.T) {
	ns := apitest.Namespace(t)
	connected(t, ns)
	want := strings.ReplaceAll(`LEVEL STACK EFFECT READS
1 @/cluster may run contract base ~> 1.2
2 @/app may run Secret cluster-outputs of @/cluster, which runs before`, "@", ns)
	got := yuba(t, ns, "impact", "network", "-o", "wide")
	got.want(t, ui.ExitOK, got.out, "If "+ns+"/network changes: 0 run, 2 may run, 0 rest.")
	if fieldsOf(got.out) != fieldsOf(want) {
		t.Errorf("got:\n%s", got.out)
	}
	yuba(t, ns, "impact", "alone").want(t, ui.ExitOK, "", "No stack reads from "+ns+"/alone.")
	var answer struct {
		Stack  string
		Levels [][]struct{ Stack, Effect string }
	}
	if got := yuba(t, ns, "impact", "cluster", "-o", "json"); json.Unmarshal([]byte(got.out), &answer) != nil || len(answer.Levels) != 1 || answer.Levels[0][0].Effect != "mayRun" {
		t.Errorf("got %d:\n%s%s", got.code, got.out, got.news)
	}
	yuba(t, ns, "impact", "nothing").want(t, ui.ExitNotFound, "", "nothing")
}
