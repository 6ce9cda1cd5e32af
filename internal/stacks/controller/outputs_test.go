// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

func TestWhichOutputsGoIntoTheSecret(t *testing.T) {
	outputs, err := statefile.ParsePrinted([]byte(`{"id": {"value": "vpc-1", "type": "string"}, "key": {"value": "k\n", "type": "string", "sensitive": true},
		"ports": {"value": [80, 443], "type": ["list", "number"]}, "on": {"value": true, "type": "bool"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct {
		wanted  []string
		want    map[string]string
		problem string
	}{
		"all if none is named, with the types of values that are not strings": {nil, map[string]string{"id": "vpc-1", "key": "k\n",
			"ports": "[80,443]", "ports__type": `["list","number"]`, "on": "true", "on__type": `"bool"`}, ""},
		"named outputs":                    {[]string{"id"}, map[string]string{"id": "vpc-1"}, ""},
		"under another name":               {[]string{"key:age.agekey", "on:enabled"}, map[string]string{"age.agekey": "k\n", "enabled": "true", "enabled__type": `"bool"`}, ""},
		"an empty new name keeps the name": {[]string{"id:"}, map[string]string{"id": "vpc-1"}, ""},
		"all unknown outputs are reported": {[]string{"id", "a", "b:c"}, nil, "the module has no output named a, b; it has id, key, on, ports"},
	} {
		t.Run(sentence, func(t *testing.T) {
			data, err := outputData(test.wanted, outputs)
			if (err != nil) != (test.problem != "") || err != nil && !strings.Contains(err.Error(), test.problem) {
				t.Fatalf("error %v, want %q", err, test.problem)
			}
			var got map[string]string
			for k, v := range data {
				if got == nil {
					got = map[string]string{}
				}
				got[k] = strings.ReplaceAll(string(v), ", ", ",")
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A retry interval of 0 must not cause endless attempts.
func TestRetriesOfOutputsWait(t *testing.T) {
	obj := stackObject(func(t *infrav1.Terraform) { t.Spec.RetryInterval = &metav1.Duration{} })
	setReady(obj, metav1.ConditionFalse, infrav1.ReasonOutputsWritingFailed, "it belongs to somebody else")
	if next := (&recorded{*passOver(obj)}).next(); next.RequeueAfter < time.Second {
		t.Errorf("reconciled again after %s", next.RequeueAfter)
	}
}
