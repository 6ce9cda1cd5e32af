// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func check(apiVersion, kind, inProgress, failed, current string) kustomize.CustomHealthCheck {
	return kustomize.CustomHealthCheck{APIVersion: apiVersion, Kind: kind,
		HealthCheckExpressions: kustomize.HealthCheckExpressions{InProgress: inProgress, Failed: failed, Current: current}}
}

func TestStatus(t *testing.T) {
	checks, err := New([]kustomize.CustomHealthCheck{
		check("example.com/v1", "Site", "status.phase == 'Starting'", "status.phase == 'Broken'", "status.phase == 'Up'"),
		check("example.com/v1", "", "", "", "has(status.ok)"),
		check("v1", "ConfigMap", "", "", "data.ready == 'yes'"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct {
		object string
		want   status.Status
		fails  string
	}{
		"it is up":                          {"{apiVersion: example.com/v1, kind: Site, status: {phase: Up}}", status.CurrentStatus, ""},
		"another version of the kind":       {"{apiVersion: example.com/v2, kind: Site, status: {phase: Up}}", status.CurrentStatus, ""},
		"it starts":                         {"{apiVersion: example.com/v1, kind: Site, status: {phase: Starting}}", status.InProgressStatus, ""},
		"it failed":                         {"{apiVersion: example.com/v1, kind: Site, status: {phase: Broken}}", status.FailedStatus, ""},
		"nothing holds":                     {"{apiVersion: example.com/v1, kind: Site, status: {phase: Other}}", status.InProgressStatus, ""},
		"its controller is behind":          {"{apiVersion: example.com/v1, kind: Site, metadata: {generation: 2}, status: {observedGeneration: 1, phase: Up}}", status.InProgressStatus, ""},
		"a field is missing":                {"{apiVersion: example.com/v1, kind: Site}", "", "failed to evaluate"},
		"a kind of a group that has checks": {"{apiVersion: example.com/v1, kind: Other, status: {ok: 1}}", status.CurrentStatus, ""},
		"a kind without a group":            {"{apiVersion: v1, kind: ConfigMap, data: {ready: 'yes'}}", status.CurrentStatus, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			u := &unstructured.Unstructured{}
			data, err := yaml.YAMLToJSON([]byte(test.object))
			if err != nil {
				t.Fatal(err)
			}
			if err := u.UnmarshalJSON(data); err != nil {
				t.Fatal(err)
			}
			if !checks.Has(u.GroupVersionKind().GroupKind()) {
				t.Fatal("there is no check")
			}
			got, err := checks.Status(t.Context(), u)
			switch {
			case test.fails != "":
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("the error is %v", err)
				}
			case err != nil || got.Status != test.want:
				t.Errorf("%v, %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestBadChecks(t *testing.T) {
	for want, list := range map[string][]kustomize.CustomHealthCheck{
		"healthCheckExprs[0]: expression Current not specified":      {check("v1", "ConfigMap", "true", "", "")},
		"healthCheckExprs[1]: failed to parse the expression Failed": {check("v1", "Secret", "", "", "true"), check("v1", "ConfigMap", "", "data.", "true")},
		"healthCheckExprs[1]: another check is for the same kind":    {check("a/v1", "X", "", "", "true"), check("a/v2", "X", "", "", "true")},
		"the expression has 20000 bytes: at most 16384 are allowed":  {check("v1", "ConfigMap", "", "", strings.Repeat(" ", 20000))},
	} {
		if _, err := New(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
