// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

const www = `apiVersion: yuba.dev/v1alpha1
kind: FailoverRecord
metadata: {name: www}
spec: {host: www.example.org, endpoints: [{name: eu-1, addresses: [192.0.2.1]}, {name: us-1, addresses: [198.51.100.1]}]}
`

func TestAFileOfARecord(t *testing.T) {
	for sentence, test := range map[string]struct{ text, name, fails string }{
		"one record":               {www, "", ""},
		"JSON":                     {`{"kind": "FailoverRecord", "metadata": {"name": "www"}}`, "www", ""},
		"beside other objects":     {"# nothing\n---\nkind: Secret\nstringData: {a: b}\n---\n" + www, "www", ""},
		"several records":          {www + "---\n" + www, "", "has several FailoverRecords"},
		"a record of another name": {www, "api", "f.yaml has no FailoverRecord api"},
		"no record":                {"kind: Secret\n", "", "f.yaml has no FailoverRecord"},
		"a typing mistake":         {strings.Replace(www, "addresses", "address", 1), "", `read the FailoverRecord www of FILE: unknown field "address"`},
		"a text":                   {"Hello\n", "", "read FILE: it does not have objects in YAML or JSON: cannot unmarshal string"},
		"bad YAML":                 {"a: [\n", "", "read FILE: it does not have objects in YAML or JSON: line "},
	} {
		t.Run(sentence, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "f.yaml")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := fromFile(&ui.Console{}, file, test.name)
			switch {
			case test.fails == "" && (err != nil || f.Name != "www"):
				t.Errorf("got %+v, %v", f, err)
			case test.fails != "" && (err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(test.fails, "FILE", file)) || strings.HasSuffix(err.Error(), " ")):
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestEndpointsOfAFileAreCompleted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(file, []byte(www), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &session.App{Console: &ui.Console{}}
	if names, _ := (&simulation{file: file, down: []string{"eu-1"}}).endpoints(a)(nil, nil, ""); len(names) != 1 || names[0] != "us-1" {
		t.Errorf("got %q", names)
	}
	if names, _ := (&simulation{file: "-"}).endpoints(a)(nil, nil, ""); len(names) > 0 {
		t.Errorf("of the standard input: %q", names)
	}
}
