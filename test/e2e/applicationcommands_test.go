// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

// The command says what a deletion waits for. With --abandon it names the consequences, and wants the name.
func TestDeletingAnInstanceByCommand(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.offer(t, "Mule", stubbornDefinition)
	y.use(t, ns, "Mule", "one", map[string]any{}, nil)
	y.reaches(t, ns, "Mule", "one", appv1.PhaseReady, "")
	says := func(code int, wants []string, args ...string) {
		t.Helper()
		out, news, got := y.run(t, append([]string{"app", "delete", "mule", "one", "-n", ns}, args...)...)
		for _, want := range wants {
			if got != code || !strings.Contains(out+news, want) {
				t.Errorf("yuba app delete %v ends with %d, and lacks %q:\n%s%s", args, got, want, out, news)
			}
		}
	}
	says(2, []string{"Delete mule " + ns + "/one, and destroy everything that it made (Terraform mule-one)?", "confirm with --yes"})
	says(5, []string{"Waiting: The deletion is blocked", "The deletion goes on"}, "--yes", "--timeout", "20s")
	says(2, []string{"All resources of mule " + ns + "/one stay as they are (Terraform mule-one)", "nobody looks for drift", "confirm with --confirm one"}, "--abandon")
	says(2, []string{"--confirm two is not the name of mule " + ns + "/one. Nothing was changed"}, "--abandon", "--confirm", "two")
	y.reaches(t, ns, "Mule", "one", appv1.PhaseDeleting, "")
	says(0, []string{"Its resources still exist, and nobody manages them"}, "--abandon", "--confirm", "one")
	says(3, []string{"does not exist"}, "--yes")
}

// An instance whose turn in a rollout has not come says which revision it follows, and which one it waits
// for.
func TestWhyAnInstanceWaitsForARollout(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	d := y.offer(t, "Ferry", strings.Replace(planDefinition, `inline: {main.tf: 'resource "terraform_data" "it" {}'}`,
		`inline: {main.tf: "resource \"terraform_data\" \"it\" {}\noutput \"size\" { value = 1 }\n"}`+"\n      outputs: [size]\n  rollout: {paused: true}", 1))
	y.use(t, ns, "Ferry", "one", map[string]any{}, nil)
	y.reaches(t, ns, "Ferry", "one", appv1.PhaseReady, "")
	if out, _ := y.do(t, "app", "outputs", "ferry", "one", "-n", ns); out != "size = 1\n" {
		t.Errorf("the outputs are %s", out)
	}
	if out, _ := y.do(t, "app", "outputs", "ferry", "one", "size", "-n", ns, "-o", "json"); strings.TrimSpace(out) != "1" {
		t.Errorf("the output is %s", out)
	}
	if out, news, code := y.run(t, "app", "outputs", "ferry", "one", "colour", "-n", ns); code != 3 || !strings.Contains(news, `shows no output "colour". It shows: size. The Secret ferry-one-outputs has all outputs`) {
		t.Errorf("code %d: %s%s", code, out, news)
	}
	y.change(t, d, func(d *appv1.ApplicationDefinition) {
		d.Spec.Backend.Terraform.Inline["main.tf"] += "\n# changed\n"
	})
	y.eventually(t, "the instance waits for its turn", func() string {
		out, _ := y.do(t, "app", "why", "ferry", "one", "-n", ns)
		if strings.Contains(out, "it follows revision 1 of its definition, and waits for its turn to get revision 2") {
			return ""
		}
		return out
	})
}
