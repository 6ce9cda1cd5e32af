// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

func TestOutputsAreMasked(t *testing.T) {
	outputs := map[string]content.Output{
		"list":   {Value: []byte(`["a",1]`), Type: []byte(`["tuple",["string","number"]]`)},
		"name":   {Value: []byte(`"x\u001b[31m"`), Type: []byte(`"string"`)},
		"secret": {Value: []byte(`"s3cr3t"`), Type: []byte(`"string"`), Sensitive: true},
	}
	var hidden, shown bytes.Buffer
	if err := listing.PrintOutputs(&hidden, outputs, false); err != nil {
		t.Fatal(err)
	}
	if err := listing.PrintOutputs(&shown, outputs, true); err != nil {
		t.Fatal(err)
	}
	common := "list = [\n  \"a\",\n  1\n]\nname = \"x\\u001b[31m\"\nsecret = "
	if diff := cmp.Diff(common+"<sensitive>\n", hidden.String()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(common+"\"s3cr3t\"\n", shown.String()); diff != "" {
		t.Error(diff)
	}
	if masked(outputs, false); string(outputs["secret"].Value) != `"s3cr3t"` {
		t.Error("masking changed its input")
	}
}

func TestCompareResources(t *testing.T) {
	resource := func(address, id, attributes string) statefile.Resource {
		return statefile.Resource{Address: address, ID: id, Attributes: []byte(attributes)}
	}
	from := &statefile.File{Serial: 7, Resources: []statefile.Resource{resource("a.new", "i-1", "{}"), resource("a.changed", "", `{"x":1}`), resource("a.same", "", "{}")}}
	to := &statefile.File{Serial: 3, Resources: []statefile.Resource{resource("a.changed", "", `{"x":2}`), resource("a.same", "", "{}"), resource("a.old", "i-2", "{}")}}
	var b bytes.Buffer
	compareResources(&b, from, to)
	want := `  ~ a.changed
  - a.new (i-1) is forgotten; the resource stays
  + a.old (i-2) is tracked again, whether or not it still exists
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
