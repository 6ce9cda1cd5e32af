// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/render"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/diff"
)

const bucket = `
apiVersion: cozystack.io/v1alpha1
kind: ApplicationDefinition
metadata: {name: bucket}
spec:
  application:
    kind: Bucket
    plural: buckets
    singular: bucket
    openAPISchema: '{"type":"object","required":["bucketName"],"properties":{"bucketName":{"type":"string","maxLength":20},"secret":{"type":"string"}}}'
  backend:
    type: Terraform
    terraform:
      prefix: bucket-
      inline:
        main.tf: |
          variable "bucket_name" { type = string }
          variable "secret" {
            type      = string
            default   = ""
            sensitive = true
          }
`

func parsed(t *testing.T, text string) *definition.Definition {
	t.Helper()
	all, err := definitionsIn("bucket.yaml", []byte(text))
	if err != nil || len(all) != 1 {
		t.Fatalf("%d definitions: %v", len(all), err)
	}
	d, list := definition.Parse(all[0])
	if d == nil {
		t.Fatal(list)
	}
	return d
}

func fleet(n int) (all []*render.Instance) {
	for i := range n {
		all = append(all, &render.Instance{Kind: "Bucket", Namespace: "team", Name: fmt.Sprint("b", i), Spec: map[string]any{"bucketName": fmt.Sprint("name-", i), "secret": "s3cr3t"}})
	}
	return all
}

func TestIdenticalDifferencesAreFolded(t *testing.T) {
	older := parsed(t, bucket)
	newer := parsed(t, strings.Replace(bucket, "prefix: bucket-", "prefix: bucket-\n      approvePlan: auto", 1))
	instances := fleet(100)
	instances[7].Annotations = map[string]string{"apps.cozystack.io/approve-plan": "manual"} // its rule stays
	p := previewOf(older, newer, instances)
	if len(p.Groups) != 1 || len(p.Groups[0].Instances) != 99 || p.Unchanged != 1 || p.refused() {
		t.Fatalf("%+v", p)
	}
	if diff := cmp.Diff([]diff.Field{{Path: "/spec/approvePlan", After: "auto"}}, p.Groups[0].Fields); diff != "" {
		t.Error(diff)
	}
}

func TestTheSameDefinitionChangesNothing(t *testing.T) {
	p := previewOf(parsed(t, bucket), parsed(t, bucket+"  dashboard: {category: IaaS}\n"), fleet(3))
	if p.changes() || p.refused() || p.Unchanged != 3 {
		t.Errorf("%+v", p)
	}
}

func TestRefusalsAreNamed(t *testing.T) {
	older := parsed(t, bucket)
	narrow := parsed(t, strings.Replace(bucket, `"maxLength":20`, `"maxLength":6`, 1))
	p := previewOf(older, narrow, fleet(11))
	if len(p.Stranded) != 1 || !p.refused() || p.Schema[0].String() != "bucketName: the maximum length changes from 20 to 6" {
		t.Errorf("%+v", p)
	}
	helm := parsed(t, bucket[:strings.Index(bucket, "  backend:")]+"  release: {prefix: b-, chartRef: {kind: HelmChart, name: bucket}}\n")
	p = previewOf(older, helm, fleet(1))
	if len(p.Refusals) != 2 || !strings.Contains(p.Refusals[0], "the backend changes from Terraform to Helm") || !strings.Contains(p.Refusals[1], "the prefix changes") {
		t.Errorf("%q", p.Refusals)
	}
	if p = previewOf(older, helm, nil); p.refused() {
		t.Errorf("without instances: %q", p.Refusals)
	}
}

func TestSensitiveVariablesAreHidden(t *testing.T) {
	older := parsed(t, bucket)
	newer := parsed(t, strings.Replace(strings.Replace(bucket, `variable "secret"`, `variable "a_password"`, 1), "prefix: bucket-", "prefix: bucket-\n      variables: {overrides: {secret: a_password}}", 1))
	p := previewOf(older, newer, fleet(2))
	if text := fmt.Sprintf("%+v", p); strings.Contains(text, "s3cr3t") || !strings.Contains(text, "<sensitive>") {
		t.Error(text)
	}
}
