// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package variables

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/applications/schema"
)

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{
		"bucketName": "bucket_name", "vpcID": "vpc_id", "HTTPPort": "http_port", "s3Bucket": "s3_bucket", "a": "a",
		"enableDNS64": "enable_dns64", "already_snake": "already_snake", "kebab-case": "kebab_case", "dotted.name": "dotted_name",
		"CIDR": "cidr", "cidrIPv4Block": "cidr_i_pv4_block", "MY_VAR": "my_var", "größeMax": "größe_max",
	} {
		if got := Snake(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func parsed(t *testing.T, text string) *schema.Schema {
	t.Helper()
	s, list := schema.Parse(text)
	if s == nil {
		t.Fatal(list)
	}
	return s
}

const bucket = `{"type":"object","required":["bucketName"],"properties":{
	"bucketName":{"type":"string"},
	"db":{"type":"object","default":{},"properties":{"instanceClass":{"type":"string","default":"small"},"multiAZ":{"type":"boolean"}}},
	"users":{"type":"object","additionalProperties":{"type":"object","properties":{"firstName":{"type":"string"}}}},
	"rules":{"type":"array","items":{"type":"object","properties":{"fromPort":{"type":"integer"}}}},
	"extraArgs":{"type":"object"}}}`

const spec = `{"bucketName":"b","db":{"instanceClass":"large","multiAZ":true},"users":{"camelUser":{"firstName":"<a>"}},
	"rules":[{"fromPort":80}],"extraArgs":{"keptAsIs":1},"_internal":1}`

var mapped = map[string]struct {
	mapping Mapping
	want    string
}{
	"objects stay objects, keys of maps stay": {Mapping{}, `{"bucket_name":"b","db":{"instance_class":"large","multi_az":true},
		"users":{"camelUser":{"first_name":"<a>"}},"rules":[{"from_port":80}],"extra_args":{"keptAsIs":1}}`},
	"objects are flattened, lists and maps are not": {Mapping{Nesting: Flatten}, `{"bucket_name":"b","db_instance_class":"large","db_multi_az":true,
		"users":{"camelUser":{"first_name":"<a>"}},"rules":[{"from_port":80}],"extra_args":{"keptAsIs":1}}`},
	"one variable has the spec": {Mapping{Nesting: Values}, `{"values":{"bucketName":"b","db":{"instanceClass":"large","multiAZ":true},
		"users":{"camelUser":{"firstName":"<a>"}},"rules":[{"fromPort":80}],"extraArgs":{"keptAsIs":1}}}`},
	"one variable, with other names": {Mapping{Nesting: Values, Naming: CamelToSnake}, `{"values":{"bucket_name":"b","db":{"instance_class":"large","multi_az":true},
		"users":{"camelUser":{"first_name":"<a>"}},"rules":[{"from_port":80}],"extra_args":{"keptAsIs":1}}}`},
	"overrides name variables and attributes": {Mapping{Overrides: map[string]string{"bucketName": "name", "spec.db.multiAZ": "ha", "users[*].firstName": "first"}},
		`{"name":"b","db":{"instance_class":"large","ha":true},"users":{"camelUser":{"first":"<a>"}},"rules":[{"from_port":80}],"extra_args":{"keptAsIs":1}}`},
	"an override names a flattened variable": {Mapping{Nesting: Flatten, Overrides: map[string]string{"db.instanceClass": "class"}},
		`{"bucket_name":"b","class":"large","db_multi_az":true,"users":{"camelUser":{"first_name":"<a>"}},"rules":[{"from_port":80}],"extra_args":{"keptAsIs":1}}`},
	"names stay": {Mapping{Naming: AsIs, Nesting: Flatten}, `{"bucketName":"b","db_instanceClass":"large","db_multiAZ":true,
		"users":{"camelUser":{"firstName":"<a>"}},"rules":[{"fromPort":80}],"extraArgs":{"keptAsIs":1}}`},
}

func TestValues(t *testing.T) {
	s := parsed(t, bucket)
	for name, c := range mapped {
		t.Run(name, func(t *testing.T) {
			table, list := New(s, c.mapping)
			if table == nil {
				t.Fatal(list)
			}
			values, err := table.Values(schema.WithoutInternal(document(t, spec)))
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(values)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(document(t, c.want), document(t, string(got))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func document(t *testing.T, text string) (d map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAbsentAndNullFieldsHaveNoVariable(t *testing.T) {
	table, list := New(parsed(t, bucket), Mapping{Nesting: Flatten})
	if table == nil {
		t.Fatal(list)
	}
	values, err := table.Values(document(t, `{"bucketName":null,"db":{"multiAZ":false}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]json.RawMessage{"db_multi_az": json.RawMessage("false")}, values); diff != "" {
		t.Error(diff)
	}
}

func TestAKeyOfAUserMayCollide(t *testing.T) {
	table, list := New(parsed(t, `{"type":"object","properties":{"o":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"fooBar":{"type":"string"}}}}}`), Mapping{})
	if table == nil {
		t.Fatal(list)
	}
	_, err := table.Values(document(t, `{"o":{"fooBar":"a","foo_bar":"s3cr3t"}}`))
	if err == nil || err.Error() != `spec.o.foo_bar has two values for "foo_bar" after renaming: remove one of its keys` {
		t.Error(err)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		mapping Mapping
		want    string
	}{
		"two spellings": {`{"type":"object","properties":{"fooBar":{"type":"string"},"foo_bar":{"type":"string"}}}`, Mapping{},
			`fooBar: the fields fooBar, foo_bar would all be the variable "foo_bar"; write another name in overrides: {"foo_bar": NAME}`},
		"two attributes": {`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"vpcID":{"type":"string"},"vpcId":{"type":"string"}}}}}}`, Mapping{},
			`a[*].vpcID: the fields a[*].vpcID, a[*].vpcId would all be the attribute "vpc_id"; write another name in overrides: {"a[*].vpcId": NAME}`},
		"joined names": {`{"type":"object","properties":{"a":{"type":"object","properties":{"bC":{"type":"string"}}},"aB":{"type":"object","properties":{"c":{"type":"string"}}}}}`, Mapping{Nesting: Flatten},
			`a.bC: the fields a.bC, aB.c would all be the variable "a_b_c"; write another name in overrides: {"aB.c": NAME}`},
		"an override onto another": {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, Mapping{Overrides: map[string]string{"a": "b"}},
			`a: the fields a, b would all be the variable "b"; write another name in overrides: {"b": NAME}`},
		"an override of nothing": {bucket, Mapping{Overrides: map[string]string{"bucket": "b"}},
			`overrides["bucket"]: the schema has no such field; write the path of a field of the schema, such as db.size or users[*].name`},
		"a name that is none": {`{"type":"object","properties":{"a/b":{"type":"string"}}}`, Mapping{},
			`["a/b"]: the name of its variable, "a/b", is not a valid name; write another name in overrides: {"[\"a/b\"]": NAME}`},
		"a reserved name": {`{"type":"object","properties":{"version":{"type":"string"}}}`, Mapping{},
			`version: the name of its variable, "version", is a reserved name; write another name in overrides: {"version": NAME}`},
		"options": {bucket, Mapping{Naming: "x", Nesting: "y"},
			"naming: \"x\" does not exist; write camelToSnake or asIs\nnesting: \"y\" does not exist; write object, flatten or values"},
	} {
		t.Run(name, func(t *testing.T) {
			table, list := New(parsed(t, c.text), c.mapping)
			if table != nil || list.String() != c.want {
				t.Errorf("%v\n got %s\nwant %s", table, list, c.want)
			}
		})
	}
}

func TestTargets(t *testing.T) {
	table, list := New(parsed(t, bucket), Mapping{Nesting: Flatten})
	if table == nil {
		t.Fatal(list)
	}
	want := []Target{
		{Path: "bucketName", Variable: "bucket_name"},
		{Path: "db.instanceClass", Variable: "db_instance_class"},
		{Path: "db.multiAZ", Variable: "db_multi_az"},
		{Path: "extraArgs", Variable: "extra_args"},
		{Path: "rules", Variable: "rules"},
		{Path: "rules[*]", Variable: "rules", Attribute: []string{"[*]"}},
		{Path: "rules[*].fromPort", Variable: "rules", Attribute: []string{"[*]", "from_port"}},
		{Path: "users", Variable: "users"},
		{Path: "users[*]", Variable: "users", Attribute: []string{"[*]"}},
		{Path: "users[*].firstName", Variable: "users", Attribute: []string{"[*]", "first_name"}},
	}
	if diff := cmp.Diff(want, table.Targets()); diff != "" {
		t.Error(diff)
	}
}
