// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forges

import (
	"fmt"
	"strings"
	"testing"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/forgetest"
)

// made is a stack that a Kustomization makes.
const made = `apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: %[1]s}
spec:
  interval: 1h
  path: ./stacks/%[2]s
  approvePlan: auto
  destroyResourcesOnDeletion: true
  sourceRef: {kind: GitRepository, name: infra}
  vars: [{name: size, value: %[3]d}]
`

const kustomization = `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: stacks, namespace: %[1]s}
spec: {interval: 1h, path: ./clusters, prune: true, targetNamespace: %[1]s, sourceRef: {kind: GitRepository, name: infra}}
`

// manifests: a pull request changes, creates and deletes stacks by their manifests.
func manifests(t *testing.T, w *world) {
	w.Put(t, map[string]string{"stacks/sized/main.tf": "variable \"size\" {}\nresource \"terraform_data\" \"sized\" { input = var.size }\n",
		"clusters/d.yaml": fmt.Sprintf(made, "d", "sized", 1), "clusters/e.yaml": fmt.Sprintf(made, "e", "sized", 1)})
	w.y.apply(t, fmt.Sprintf(kustomization, w.ns))
	w.eventually(t, "the stacks are made", func() bool {
		return len(strings.Fields(w.y.run(t, "", "kubectl", "get", "terraform", "-n", w.ns, "-o", "name"))) == 5
	})
	for _, name := range []string{"d", "e"} {
		w.y.run(t, "", "kubectl", "wait", "-n", w.ns, "--for=condition=Ready", "--timeout=2m", "terraform/"+name)
	}
	n := w.Create(t, forgetest.Pull{Branch: "manifests", Title: "Manifests", Author: forgetest.Alice, Write: map[string]string{
		"clusters/d.yaml": fmt.Sprintf(made, "d", "sized", 2), "clusters/e.yaml": "# no stack any more\n", "clusters/f.yaml": fmt.Sprintf(made, "f", "sized", 3),
		"clusters/g.yaml": fmt.Sprintf(made, "g", "sized", 4) + "  varsFrom: [{kind: Secret, name: password}]\n"}})
	p := w.until(t, n, "", yubav1.PullRequestHeld)
	if got := names(p); got != "d Planned, e Planned, f Planned, g Held" {
		t.Errorf("planned are %s: %+v", got, p.Stacks)
	}
	if p.Counts != (yubav1.PullRequestCounts{Add: 1, Change: 1, Destroy: 1}) {
		t.Errorf("the counts are %+v", p.Counts)
	}
	var texts []string
	w.eventually(t, "the comment shows them", func() bool {
		texts = w.ours(t, n)
		return len(texts) == 1 && strings.Contains(texts[0], "spec.vars[0].value") && strings.Contains(texts[0], "deleted") && strings.Contains(texts[0], "created") && strings.Contains(texts[0], "spec.varsFrom")
	})
	w.Close(t, n)
	w.eventually(t, "the planner forgets it", func() bool { return w.y.pull(t, w.ns, n).Number == 0 })
	if left := w.y.run(t, "", "kubectl", "get", "terraform", "-n", w.ns, "-o", "name"); len(strings.Fields(left)) != 5 {
		t.Errorf("the stacks are %s", left)
	}
}

// restarted: a new server repeats nothing, and approves what a former one has shown.
func restarted(t *testing.T, w *world) {
	n := w.Create(t, forgetest.Pull{Branch: "restart", Title: "Restart", Author: forgetest.Alice, Write: changed(5)})
	p := w.until(t, n, "", yubav1.PullRequestPlanned)
	w.eventually(t, "the comment has the plans", func() bool { return len(w.ours(t, n)) == 1 })
	before, err := w.forge.Comments(t.Context(), n, zero)
	if err != nil {
		t.Fatal(err)
	}
	w.y.stop()
	w.y.launch(t)
	w.y.run(t, "", "kubectl", "annotate", "--overwrite", "pullrequestplanner", "-n", w.ns, "prs", "reconcile.fluxcd.io/requestedAt=after-the-restart")
	w.eventually(t, "the new server has looked", func() bool {
		return w.y.planner(t, w.ns).Status.LastHandledReconcileAt == "after-the-restart"
	})
	after, err := w.forge.Comments(t.Context(), n, zero)
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != 1 || !after[0].Updated.Equal(before[0].Updated) {
		t.Errorf("the comment was written again: %+v", after)
	}
	if got := w.y.pull(t, w.ns, n); got.State != yubav1.PullRequestPlanned || got.Head != p.Head || names(got) != names(p) {
		t.Errorf("the new server knows %+v", got)
	}
	// A person asks for the plans again.
	w.y.run(t, "", "kubectl", "annotate", "--overwrite", "pullrequestplanner", "-n", w.ns, "prs", "reconcile.fluxcd.io/requestedAt=again", yubav1.AnnotationPlanPullRequest+"="+fmt.Sprint(n))
	w.eventually(t, "the request is handled", func() bool { return w.y.planner(t, w.ns).Status.LastHandledReconcileAt == "again" })
	w.until(t, n, p.Head, yubav1.PullRequestPlanned)
}

// adopted: the ConfigMap of tofu-controller's branch planner.
func adopted(t *testing.T, w *world) {
	w.y.run(t, "", "kubectl", "delete", "pullrequestplanner", "-n", w.ns, "prs")
	w.y.apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: branch-planner-token, namespace: %[1]s}\nstringData: {token: %[2]s}\n---\n"+
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: branch-planner, namespace: %[1]s}\ndata:\n  secretName: branch-planner-token\n  resources: |-\n    - namespace: %[1]s\n      name: c\n", w.ns, w.Token(forgetest.Full)))
	w.eventually(t, "there is a planner", func() bool {
		return strings.Contains(w.y.run(t, "", "kubectl", "get", "pullrequestplanner", "-n", w.ns, "-o", "name"), "branch-planner")
	})
	// Only the host tells the kind of a server that is not one of the known ones.
	w.y.run(t, "", "kubectl", "patch", "pullrequestplanner", "-n", w.ns, "branch-planner", "--type=merge", "-p", `{"spec":{"forge":{"type":"gitea"}}}`)
	n := w.Create(t, forgetest.Pull{Branch: "adopted", Title: "Adopted", Author: forgetest.Alice, Write: map[string]string{
		"stacks/c/main.tf": "resource \"terraform_data\" \"c\" { input = 3 }\n", "stacks/b/more.tf": "# more\n"}})
	w.y.run(t, "", "kubectl", "annotate", "pullrequestplanner", "-n", w.ns, "branch-planner", "reconcile.fluxcd.io/requestedAt=now")
	w.eventually(t, "the comment has the plan of the named stack only", func() bool {
		texts := w.ours(t, n)
		return len(texts) == 1 && strings.Contains(texts[0], "/c`") && !strings.Contains(texts[0], "/b`") && strings.Contains(texts[0], "1 to change")
	})
	w.Say(t, n, forgetest.Alice, "!replan")
	w.y.run(t, "", "kubectl", "delete", "configmap", "-n", w.ns, "branch-planner")
	w.eventually(t, "the planner ends with the ConfigMap", func() bool {
		return w.y.run(t, "", "kubectl", "get", "pullrequestplanner", "-n", w.ns, "-o", "name") == ""
	})
}
