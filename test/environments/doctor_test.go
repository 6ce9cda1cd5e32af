// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cloud puts programs of clouds on PATH that answer as the real ones do. The clouds cannot be reached
// from here.
func (p *person) cloud(programs map[string]string) {
	p.t.Helper()
	dir := p.t.TempDir()
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho \"$0 $*\" >> "+dir+"/asked\n"+script), 0o700); err != nil { //nolint:gosec // a program
			p.t.Fatal(err)
		}
	}
	p.env = append(p.env, "PATH="+dir+":"+filepath.Dir(tofuPath(p.env))+":/usr/bin:/bin")
}

func tofuPath(env []string) string {
	for _, e := range env {
		if dirs, ok := strings.CutPrefix(e, "PATH="); ok {
			first, _, _ := strings.Cut(dirs, ":")
			return first + "/tofu"
		}
	}
	return ""
}

const gcloud = `case "$*" in
*print-access-token*) echo ya29.token;;
*projects\ describe*billing*) echo True;;
*billing*) echo True;;
*projects\ describe*) echo ACTIVE;;
*sqladmin*) ;;
*pubsub*) echo "ERROR: Max retries exceeded with url" >&2; exit 1;;
*run.googleapis.com*) echo run.googleapis.com;;
*) echo "ERROR: PERMISSION_DENIED: you may not" >&2; exit 1;;
esac
`

func TestTheDoctorNamesEachPrerequisiteWithItsRemedy(t *testing.T) {
	p := newPerson(t, "environments")
	p.cloud(map[string]string{"gcloud": gcloud})
	p.write("environments/cloud-run/terraform.tfvars", "images = {}\nproject_id = \"shop-1\"\nregion = \"europe-west1\"\n")
	a := p.ends(1, nil, "env", "doctor", "cloud-run", "-o", "json")
	var report struct {
		Target string
		Items  []struct{ Kind, What, Result, Why, Remedy string }
	}
	if err := json.Unmarshal([]byte(a.out), &report); err != nil {
		t.Fatal(err, a.all())
	}
	if report.Target != "cloud-run" {
		t.Errorf("the target is %s", report.Target)
	}
	want := map[string]string{"a value for each variable": "met", "OpenTofu": "met", "gcloud": "met", "application default credentials": "met", "the project shop-1": "met", "billing of the project": "met",
		"the API run.googleapis.com": "met", "the API sqladmin.googleapis.com": "missing", "the API pubsub.googleapis.com": "unknown", "the API secretmanager.googleapis.com": "missing",
		"a role of yours in the project's policy": "missing"}
	for _, item := range report.Items {
		if want[item.What] != item.Result {
			t.Errorf("%s: %s (%s), want %s", item.What, item.Result, item.Why, want[item.What])
		}
		if item.Result != "met" && item.Remedy == "" {
			t.Errorf("%s has no remedy", item.What)
		}
		delete(want, item.What)
	}
	if len(want) > 0 {
		t.Errorf("not asked: %v", want)
	}
}

func TestWhatCannotBeAskedIsUnknown(t *testing.T) {
	p := newPerson(t, "environments")
	p.cloud(nil)
	p.write("environments/fargate/terraform.tfvars", "images = {}\naws_region = \"eu-central-1\"\nenvironment = \"x\"\n")
	p.ends(1, []string{"MISSING  tool         aws", "unknown  credentials  credentials of an account", "it cannot be asked: aws is not on PATH", "Remedy: aws sso login"}, "env", "doctor", "fargate")
	p.ends(0, []string{"ok       tool         OpenTofu"}, "env", "doctor", "standalone")
}

// A value of the repository is never taken for an option of a cloud's program.
func TestHostileValuesAreNotPassedToPrograms(t *testing.T) {
	p := newPerson(t, "environments")
	p.cloud(map[string]string{"gcloud": gcloud})
	p.write("environments/cloud-run/terraform.tfvars", "images = {}\nproject_id = \"--flags-file=/etc/passwd\"\nregion = \"x\"\n")
	p.ends(5, []string{"has characters that no name there has"}, "env", "doctor", "cloud-run")
}
