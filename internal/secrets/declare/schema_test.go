// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package declare

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"
)

// full has every field.
const full = `
store: {kubernetes: {namespace: staging, name: shop-secrets}}
copies:
  - vault: {address: "https://vault.example.com:8200", mount: secret, path: shop, namespace: team}
  - ssm: {name: /shop, region: eu-central-1, keyID: alias/shop, endpoint: "http://127.0.0.1:4566"}
  - secretsManager: {name: shop/staging, region: eu-central-1, keyID: alias/shop, endpoint: "http://localhost:4566"}
  - gcpSecretManager: {project: shop-project, name: shop-staging, endpoint: "https://secretmanager.example.com"}
  - azureKeyVault: {vault: "https://shop.vault.azure.net", name: shop-staging}
  - sops: {file: secrets/shop.yaml, recipients: [age1qyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqs3290gq]}
overlap: 1h
dependents: [database, other/app]
secrets:
  database: {password: {length: 40, symbols: "-_"}, rotateEvery: 90d}
  api: {token: {bytes: 16, encoding: hex, prefix: sk_}}
  signing: {keyPair: {algorithm: rsa-4096, ssh: true}}
  ca: {certificate: {commonName: Shop CA, ca: true, validFor: 3650d, algorithm: ecdsa-p256}}
  web: {certificate: {dnsNames: [shop.example.com], ipAddresses: [10.0.0.1], signedBy: ca}}
`

func validator(t *testing.T) func(text string) []error {
	t.Helper()
	content, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	// The library resolves no references.
	var whole map[string]any
	if err := json.Unmarshal(content, &whole); err != nil {
		t.Fatal(err)
	}
	inlined, err := json.Marshal(inline(whole, whole["definitions"].(map[string]any)))
	if err != nil {
		t.Fatal(err)
	}
	s := &spec.Schema{}
	if err := json.Unmarshal(inlined, s); err != nil {
		t.Fatal(err)
	}
	v := validate.NewSchemaValidator(s, nil, "", strfmt.Default)
	return func(text string) []error {
		var object any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		return v.Validate(object).Errors
	}
}

func inline(node any, definitions map[string]any) any {
	switch n := node.(type) {
	case map[string]any:
		if ref, ok := n["$ref"].(string); ok {
			return inline(definitions[strings.TrimPrefix(ref, "#/definitions/")], definitions)
		}
		for key, child := range n {
			n[key] = inline(child, definitions)
		}
	case []any:
		for i := range n {
			n[i] = inline(n[i], definitions)
		}
	}
	return node
}

// What the schema accepts and the reader, too, has every field of the schema.
func TestTheSchemaIsThatOfTheReader(t *testing.T) {
	check := validator(t)
	if _, err := Read("secrets.yaml", []byte(full)); err != nil {
		t.Error(err)
	}
	for _, text := range []string{full, valid} {
		if errs := check(text); len(errs) > 0 {
			t.Errorf("the schema refuses it: %v", errs)
		}
	}
	content, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(content, &whole); err != nil {
		t.Fatal(err)
	}
	for _, field := range fields(whole) {
		if !strings.Contains(full, field+":") {
			t.Errorf("the full file does not have the field %s", field)
		}
	}
}

// fields are the names of all properties below a schema.
func fields(node any) (names []string) {
	n, ok := node.(map[string]any)
	if !ok {
		return nil
	}
	for key, child := range n {
		if properties, ok := child.(map[string]any); key == "properties" && ok {
			names = append(names, slices.Sorted(maps.Keys(properties))...)
		}
		names = append(names, fields(child)...)
	}
	return names
}

func TestTheSchemaRefusesMistakes(t *testing.T) {
	check := validator(t)
	const store = "store: {kubernetes: {name: s}}\n"
	for sentence, text := range map[string]string{
		"no store":            "secrets: {a: {password: {}}}",
		"two stores":          "store: {kubernetes: {name: s}, ssm: {name: a, region: eu-west-1}}\nsecrets: {}",
		"an unknown field":    store + "secrets: {}\ndependants: []",
		"a name":              store + "secrets: {DB: {password: {}}}",
		"two generators":      store + "secrets: {db: {password: {}, token: {}}}",
		"a short password":    store + "secrets: {db: {password: {length: 4}}}",
		"an algorithm":        store + "secrets: {db: {keyPair: {algorithm: dsa}}}",
		"clear text":          "store: {vault: {address: http://vault.example.com, path: a}}\nsecrets: {}",
		"a region":            "store: {secretsManager: {name: a, region: Mars}}\nsecrets: {}",
		"a name of Azure":     "store: {azureKeyVault: {vault: https://a.vault.azure.net, name: a_b}}\nsecrets: {}",
		"a project":           "store: {gcpSecretManager: {project: A, name: a}}\nsecrets: {}",
		"a foreign parameter": store + "secrets: {db: {password: {size: 40}}}",
	} {
		if errs := check(text); len(errs) == 0 {
			t.Errorf("%s: the schema accepts it", sentence)
		}
		if _, err := Read("secrets.yaml", []byte(text)); err == nil {
			t.Errorf("%s: the reader accepts it", sentence)
		}
	}
}

func TestTheSchemaOfTheDocumentationIsCurrent(t *testing.T) {
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/reference/secrets.schema.json")
	if err != nil || string(got) != string(want) {
		t.Errorf("docs/reference/secrets.schema.json is not current (%v). Write it:\n    make generate", err)
	}
}
