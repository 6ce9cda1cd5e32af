// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThePresetsAreComplete(t *testing.T) {
	want := []string{"standalone", "kubernetes", "cloud-run", "gke", "fargate", "eks"}
	if diff := cmp.Diff(want, Names()); diff != "" {
		t.Fatal(diff)
	}
	kinds := []string{"tool", "credentials", "api", "right", "quota", "service"}
	for _, target := range All() {
		if target.Title == "" || target.Identity == "" || target.Compute == "" || len(target.Storage) == 0 || len(target.Bus) == 0 {
			t.Errorf("%s is not complete: %+v", target.Name, target)
		}
		for _, p := range target.Prerequisites {
			if p.What == "" || p.Remedy == "" || p.Tool == "" || !slices.Contains(kinds, p.Kind) {
				t.Errorf("%s: a prerequisite is not complete: %+v", target.Name, p)
			}
			if len(p.Command) > 0 && p.Command[0] != p.Tool {
				t.Errorf("%s: %q does not ask with %s", target.Name, p.Command, p.Tool)
			}
			for _, found := range placeholder.FindAllStringSubmatch(strings.Join(p.Command, " ")+p.What, -1) {
				if target.Variables[found[1]] == "" {
					t.Errorf("%s: %q needs the variable %s, which the target does not bring", target.Name, p.What, found[1])
				}
			}
		}
	}
}

// A question reads. The words after which a cloud's program changes something are not in any.
func TestNoQuestionChangesAnything(t *testing.T) {
	for _, target := range All() {
		for _, p := range target.Prerequisites {
			for _, word := range p.Command {
				for _, verb := range []string{"enable", "create", "delete", "update", "set", "add", "apply", "put", "request-service-quota-increase", "attach"} {
					if word == verb && !slices.Contains(p.Command, "can-i") {
						t.Errorf("%s: %q changes something", target.Name, p.Command)
					}
				}
			}
		}
	}
}

func TestValuesInQuestions(t *testing.T) {
	p := Prerequisite{Command: []string{"gcloud", "--project=${project_id}", "${project_id}"}}
	got, err := p.Ask(map[string]string{"project_id": "shop-1"})
	if diff := cmp.Diff([]string{"gcloud", "--project=shop-1", "shop-1"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for value, says := range map[string]string{"--flags-file=/etc/passwd": "characters", "a b": "characters", "": "characters", "a;b": "characters"} {
		if _, err := p.Ask(map[string]string{"project_id": value}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", value, err)
		}
	}
	if _, err := p.Ask(nil); err == nil || !strings.Contains(err.Error(), "project_id") {
		t.Error(err)
	}
}

func TestTheTargetThatFits(t *testing.T) {
	for _, test := range []struct {
		providers, modules []string
		want               string
	}{
		{nil, nil, "standalone"},
		{[]string{"hashicorp/kubernetes"}, nil, "kubernetes"},
		{[]string{"hashicorp/google"}, []string{"../../modules/cloudrun-domain"}, "cloud-run"},
		{[]string{"hashicorp/google", "hashicorp/helm"}, nil, "gke"},
		{[]string{"hashicorp/aws"}, nil, "fargate"},
		{[]string{"hashicorp/aws"}, []string{"../eks-base"}, "eks"},
	} {
		if got := Guess(test.providers, test.modules); got != test.want {
			t.Errorf("%+v: got %s", test, got)
		}
	}
}

func TestCredentialsGoToTheProvidersThatNeedThem(t *testing.T) {
	for _, test := range []struct {
		providers []string
		backend   string
		want      Access
	}{
		{nil, "local", Access{}},
		{nil, "s3", Access{[]string{"AWS_*"}, []string{".aws"}}},
		{[]string{"hashicorp/aws"}, "s3", Access{[]string{"AWS_*"}, []string{".aws"}}},
		{[]string{"registry.opentofu.org/hashicorp/google-beta"}, "", Access{[]string{"CLOUDSDK_*", "GCLOUD_*", "GOOGLE_*"}, []string{".config/gcloud"}}},
		{[]string{"registry.terraform.io/Hashicorp/AWS"}, "", Access{[]string{"AWS_*"}, []string{".aws"}}},
		{[]string{"Azure/azapi"}, "", Access{[]string{"ARM_*", "AZURE_*"}, []string{".azure"}}},
		{[]string{"evil/aws", "evil.example/hashicorp/aws", "evil.example/registry.opentofu.org/hashicorp/aws", "aws", "acme/ac-me"}, "", Access{}},
		{nil, "aws", Access{}},
		{nil, "cloud", Access{}},
	} {
		if diff := cmp.Diff(test.want, AccessOf(test.providers, test.backend)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test, diff)
		}
	}
}

func TestProvidersThatGetNothingAreNamed(t *testing.T) {
	got := Unlisted([]string{"hashicorp/aws", "hashicorp/random", "registry.opentofu.org/hashicorp/null", "evil/aws", "acme/acme"})
	if diff := cmp.Diff([]string{"acme/acme", "evil/aws"}, got); diff != "" {
		t.Error(diff)
	}
}
