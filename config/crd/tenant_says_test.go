// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// says tells what an API server answers to a spec.
func says(t *testing.T, d definition, spec string) string {
	t.Helper()
	object := decode(t, []byte("metadata: {name: a, namespace: b}\nspec: "+spec))
	unknown, errs := d.admit(t, object)
	if len(unknown) != 0 {
		t.Errorf("unknown fields %v", unknown)
	}
	if err := errs.ToAggregate(); err != nil {
		return err.Error()
	}
	return ""
}

func TestWhatARegistryMaySay(t *testing.T) {
	d := load(t, tenantRegistries)
	mappings := `valueMappings: {uid: id, activate: active}`
	mysql := `mysql: {host: h, username: u, database: d, table: t}`
	for sentence, c := range map[string]struct{ spec, want string }{
		"the published form":                      {`{source: {type: mysql, syncInterval: 1m, ` + mysql + `}, valueMappings: {uid: id, hostOrUrl: url, activate: active}}`, ""},
		"the interval and the port have defaults": {`{source: {type: mysql, ` + mysql + `}, ` + mappings + `}`, ""},
		"more columns":                            {`{source: {type: mysql, ` + mysql + `}, ` + mappings + `, extraValueMappings: {planId: plan}}`, ""},
		"a source is needed":                      {`{` + mappings + `}`, "spec.source: Required value"},
		"a source that there is not":              {`{source: {type: oracle}, ` + mappings + `}`, "spec.source.type: Unsupported value"},
		"the source that is named is there":       {`{source: {type: postgres, ` + mysql + `}, ` + mappings + `}`, "source.type postgres needs source.postgres"},
		"mysql, and nothing said of it":           {`{source: {type: mysql}, ` + mappings + `}`, "source.type mysql needs source.mysql"},
		"an interval in words":                    {`{source: {type: mysql, syncInterval: 5 minutes, ` + mysql + `}, ` + mappings + `}`, "spec.source.syncInterval: Invalid value"},
		"a port that there is not":                {`{source: {type: mysql, mysql: {host: h, port: 70000, username: u, database: d, table: t}}, ` + mappings + `}`, "spec.source.mysql.port: Invalid value"},
		"the column of the uid is needed":         {`{source: {type: mysql, ` + mysql + `}, valueMappings: {activate: active}}`, "spec.valueMappings.uid: Required value"},
		"PostgreSQL":                              {`{source: {type: postgres, postgres: {host: h, username: u, database: d, table: t, channel: c, tls: {mode: verify-full, caRef: {name: s, key: ca.crt}}}}, ` + mappings + `}`, ""},
		"a way to secure that there is not":       {`{source: {type: postgres, postgres: {host: h, username: u, database: d, table: t, tls: {mode: prefer}}}, ` + mappings + `}`, "tls.mode: Unsupported value"},
		"SQLite":                                  {`{source: {type: sqlite, sqlite: {path: /data/tenants.db, table: tenants}}, ` + mappings + `}`, ""},
		"a web server":                            {`{source: {type: http, http: {url: "https://example.org/tenants", rows: .items, next: .next, secretName: s}}, ` + mappings + `}`, ""},
		"a file is no web server":                 {`{source: {type: http, http: {url: "file:///etc/passwd"}}, ` + mappings + `}`, "spec.source.http.url: Invalid value"},
		"a ConfigMap":                             {`{source: {type: configMap, configMap: {name: c, key: tenants.csv}}, ` + mappings + `}`, ""},
		"conditions of rows":                      {`{source: {type: mysql, ` + mysql + `, where: [{column: region, operator: In, values: [eu]}, {column: gone, operator: DoesNotExist}]}, ` + mappings + `}`, ""},
		"In without values":                       {`{source: {type: mysql, ` + mysql + `, where: [{column: region, operator: In}]}, ` + mappings + `}`, "In and NotIn need values"},
		"Exists with values":                      {`{source: {type: mysql, ` + mysql + `, where: [{column: region, operator: Exists, values: [a]}]}, ` + mappings + `}`, "In and NotIn need values"},
		"an operator that there is not":           {`{source: {type: mysql, ` + mysql + `, where: [{column: region, operator: Like, values: [a]}]}, ` + mappings + `}`, "operator: Unsupported value"},
		"protection":                              {`{source: {type: mysql, ` + mysql + `}, ` + mappings + `, protection: {maxDeletePercent: 0, gracePeriod: 72h}}`, ""},
		"more than all":                           {`{source: {type: mysql, ` + mysql + `}, ` + mappings + `, protection: {maxDeletePercent: 101}}`, "maxDeletePercent: Invalid value"},
		"a grace period in words":                 {`{source: {type: mysql, ` + mysql + `}, ` + mappings + `, protection: {gracePeriod: 3 days}}`, "gracePeriod: Invalid value"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := says(t, d, c.spec)
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("error is %q, want %q in it", got, c.want)
			}
		})
	}
}

func TestWhatATemplateMaySay(t *testing.T) {
	d := load(t, tenantTemplates)
	for sentence, c := range map[string]struct{ spec, want string }{
		"nothing but its registry":           {`{registryId: r}`, ""},
		"the registry is needed":             {`{manifests: []}`, "spec.registryId: Required value"},
		"a manifest may be anything":         {`{registryId: r, manifests: [{id: a, spec: {apiVersion: x/v1, kind: Y, spec: {deep: [{er: 1}]}, more: true}}]}`, ""},
		"a manifest of a list needs no kind": {`{registryId: r, deployments: [{id: a, spec: {spec: {replicas: 1}}}]}`, ""},
		"a manifest is no text":              {`{registryId: r, manifests: [{id: a, spec: "x"}]}`, "spec.manifests[0].spec: Invalid value"},
		"an id is needed":                    {`{registryId: r, manifests: [{spec: {}}]}`, "spec.manifests[0].id: Required value"},
		"an id stands once in a list":        {`{registryId: r, manifests: [{id: a, spec: {}}, {id: a, spec: {}}]}`, "spec.manifests[1]: Duplicate value"},
		"a timeout of nothing":               {`{registryId: r, manifests: [{id: a, spec: {}, timeoutSeconds: 0}]}`, "timeoutSeconds: Invalid value"},
		"a timeout of more than an hour":     {`{registryId: r, manifests: [{id: a, spec: {}, timeoutSeconds: 3601}]}`, "timeoutSeconds: Invalid value"},
		"a policy that there is not":         {`{registryId: r, manifests: [{id: a, spec: {}, deletionPolicy: Keep}]}`, "deletionPolicy: Unsupported value"},
		"a rollout":                          {`{registryId: r, rollout: {maxSkew: 10, progressDeadlineSeconds: 60, canary: {matchLabels: {track: canary}}}}`, ""},
		"less than none at a time":           {`{registryId: r, rollout: {maxSkew: -1}}`, "maxSkew: Invalid value"},
		"a deadline that is too short":       {`{registryId: r, rollout: {progressDeadlineSeconds: 59}}`, "progressDeadlineSeconds: Invalid value"},
		"a target cluster":                   {`{registryId: r, kubeConfig: {secretRef: {name: s}}}`, ""},
		"a target cluster that is nowhere":   {`{registryId: r, kubeConfig: {}}`, "exactly one of"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := says(t, d, c.spec)
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("error is %q, want %q in it", got, c.want)
			}
		})
	}
}

// What people can start from must be taken as it is.
func TestTheExamplesOfTenantsAreTaken(t *testing.T) {
	kinds := map[string]definition{
		"TenantRegistry": load(t, tenantRegistries), "TenantTemplate": load(t, tenantTemplates),
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "tenants", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("list the examples: %v, found %d", err, len(files))
	}
	seen := map[string]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
			document, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			object := decode(t, document)
			kind, _ := object["kind"].(string)
			d, ours := kinds[kind]
			if !ours {
				continue
			}
			seen[kind]++
			if unknown, errs := d.admit(t, object); len(unknown) != 0 || len(errs) != 0 {
				t.Errorf("%s, %s: unknown fields %v, errors %v", file, kind, unknown, errs)
			}
		}
	}
	if seen["TenantTemplate"] < 9 || seen["TenantRegistry"] == 0 {
		t.Errorf("only these were looked at: %v", seen)
	}
}
