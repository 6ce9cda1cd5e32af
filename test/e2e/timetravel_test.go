// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// TestBackInTime: what a stack had at a time, what changed since then, and who changed it.
func TestBackInTime(t *testing.T) {
	y, ns := common(t)
	before := time.Now().UTC().Format(time.RFC3339Nano)
	obj := y.applied(t, ns, "vpc", twoNamed)
	between := time.Now().UTC().Format(time.RFC3339Nano)
	change(t, y, obj, func(obj *infrav1.Terraform) {
		obj.Spec.Inline = map[string]string{"main.tf": strings.Replace(twoNamed, `"two"`, `"three"`, 1) + "\nresource \"terraform_data\" \"c\" {}\n"}
	})
	y.await(t, obj, "it has the third resource", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.ObservedGeneration == o.Generation })

	out, news := y.do(t, "state", "at", between, name(obj))
	if out != "terraform_data.a\nterraform_data.b\n" || !strings.Contains(news, "Version ") {
		t.Errorf("at that time: %s%s", out, news)
	}
	if out, _ := y.do(t, "state", "at", "0s", "-n", ns); !strings.Contains(out, ns+"/vpc") || !strings.Contains(out, "3") {
		t.Errorf("the fleet now:\n%s", out)
	}
	if _, news, code := y.run(t, "state", "at", before, name(obj)); code != 3 || !strings.Contains(news, "oldest stored version is newer") {
		t.Errorf("before its first version it ended with %d: %s", code, news)
	}
	if _, news, code := y.run(t, "state", "at", "yesterday", name(obj)); code != 2 || !strings.Contains(news, "is not a time") {
		t.Errorf("a time that is none ended with %d: %s", code, news)
	}
	out, _ = y.do(t, "state", "diff", between, "now", "-n", ns)
	if want := ns + "/vpc: 1 added, 1 changed, 0 removed\n  + terraform_data.c\n  ~ terraform_data.b: input, output\n"; out != want {
		t.Errorf("the differences: %s", out)
	}

	out, _ = y.do(t, "state", "blame", name(obj), "terraform_data.b.input", "-o", "json")
	var answer struct {
		Events []struct {
			Kind, Was, Is, Revision, Trigger string
			Version                          struct{ RunID string }
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Events) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	if e := answer.Events[0]; e.Kind != "changed" || e.Was != `"two"` || e.Is != `"three"` || e.Version.RunID == "" || e.Revision == "" {
		t.Errorf("%+v", e)
	}
	if out, _ := y.do(t, "state", "blame", name(obj), "terraform_data.c"); !strings.Contains(out, "created") {
		t.Errorf("the third resource:\n%s", out)
	}
	if _, news, code := y.run(t, "state", "blame", name(obj), "terraform_data.nothing"); code != 3 || !strings.Contains(news, "no stored version") {
		t.Errorf("nothing ended with %d: %s", code, news)
	}
}
