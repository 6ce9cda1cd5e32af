// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package composition_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/composition"
	"github.com/yuba-dev/yuba/internal/applications/schema"
)

const schemaJSON = `{"type":"object","properties":{
	"cidr":{"type":"string"},"size":{"type":"integer","default":3},"large":{"type":"integer"},"debug":{"type":"boolean","default":false},
	"db":{"type":"object","properties":{"name":{"type":"string"}}},"tags":{"type":"object","additionalProperties":{"type":"string"}},"zones":{"type":"array","items":{"type":"string"}}}}`

const network = `
- id: net
  template:
    apiVersion: infra.contrib.fluxcd.io/v1alpha2
    kind: Terraform
    spec:
      vars: [{name: cidr, value: "${spec.cidr}"}]
      inline:
        main.tf: |
          variable "cidr" { type = string }
          output "id" { value = "${var.cidr}" }
          output "key" {
            value     = "k"
            sensitive = true
          }
`

func notes(data string) string {
	return "\n- id: notes\n  template: {apiVersion: v1, kind: ConfigMap, data: {x: '" + data + "'}}\n"
}

// backend reads resources, and outputs after "outputs:".
func backend(t *testing.T, resources string) (*appv1.CompositionBackend, *schema.Schema) {
	t.Helper()
	b := &appv1.CompositionBackend{}
	if err := yaml.UnmarshalStrict([]byte("prefix: app-\nresources:"+resources), b); err != nil {
		t.Fatalf("%v in %s", err, resources)
	}
	s, list := schema.Parse(schemaJSON)
	if s == nil {
		t.Fatal(list)
	}
	return b, s
}

func parse(t *testing.T, resources string) *composition.Composition {
	t.Helper()
	b, s := backend(t, resources)
	c, list := composition.Parse(b, s)
	if c == nil {
		t.Fatal(list)
	}
	return c
}

func TestWhatADefinitionMayNotDo(t *testing.T) {
	stack := func(spec string) string {
		return "\n- id: a\n  template: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {" + spec + "}}\n"
	}
	for sentence, test := range map[string]struct{ in, want string }{
		"another kind":                           {"\n- id: a\n  template: {apiVersion: v1, kind: Pod}", "cannot make the kind Pod"},
		"a cluster's kind":                       {"\n- id: a\n  template: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding}", "cannot make the kind ClusterRoleBinding"},
		"a kind that users choose":               {"\n- id: a\n  template: {apiVersion: v1, kind: '${spec.cidr}'}", "cannot make the kind"},
		"no kind":                                {"\n- id: a\n  template: {apiVersion: v1}", "needs apiVersion and kind"},
		"no object":                              {"\n- id: a\n  template: null", "not an object"},
		"another namespace":                      {"\n- id: a\n  template: {apiVersion: v1, kind: Secret, metadata: {namespace: kube-system}}", "metadata.namespace cannot be set"},
		"owners":                                 {"\n- id: a\n  template: {apiVersion: v1, kind: Secret, metadata: {ownerReferences: []}}", "metadata.ownerReferences cannot be set"},
		"a name that users choose":               {"\n- id: a\n  template: {apiVersion: v1, kind: Secret, metadata: {name: '${spec.cidr}'}}", "contains ${metadata.name} once"},
		"a name without the instance's":          {"\n- id: a\n  template: {apiVersion: v1, kind: Secret, metadata: {name: app-shared}}", "contains ${metadata.name} once"},
		"a name without the prefix":              {"\n- id: a\n  template: {apiVersion: v1, kind: Secret, metadata: {name: 'x-${metadata.name}'}}", "begins with the prefix"},
		"a service account that users choose":    {stack("serviceAccountName: '${spec.cidr}'"), "spec.serviceAccountName: expressions are not allowed here"},
		"a source that users choose":             {stack("sourceRef: {kind: GitRepository, name: '${spec.cidr}'}"), "spec.sourceRef.name: expressions are not allowed here"},
		"a source's namespace that users choose": {stack("sourceRef: {kind: GitRepository, name: a, namespace: '${spec.cidr}'}"), "expressions are not allowed here"},
		"a Secret's type that users choose":      {"\n- id: a\n  template: {apiVersion: v1, kind: Secret, type: '${spec.cidr}'}", "type: expressions are not allowed here"},
		"a release's account that users choose":  {"\n- id: a\n  template: {apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, spec: {serviceAccountName: '${spec.cidr}'}}", "expressions are not allowed here"},
		"a key of an expression":                 {"\n- id: a\n  template: {apiVersion: v1, kind: ConfigMap, data: {'${spec.cidr}': a}}", "names of fields have no expressions"},
		"a program that is rendered twice":       {stack("inline: {main.tf.tpl: ''}"), "not rendered a second time"},
		"a Secret for outputs that users name":   {stack("writeOutputsToSecret: {name: '${spec.cidr}'}"), "must contain ${metadata.name} once"},
		"a forced plan":                          {stack("force: true"), "spec.force cannot be set"},
		"a field that stacks do not have":        {stack("colour: blue"), "unknown field"},
		"a status":                               {"\n- id: a\n  template: {apiVersion: v1, kind: ConfigMap, status: {}}", "the field status cannot be set"},
		"an unknown resource":                    {notes("${resources.nobody.name}"), "there is no resource \"nobody\""},
		"itself":                                 {notes("${resources.notes.name}"), "cannot refer to itself"},
		"a computed resource":                    {network + notes("${resources[spec.cidr].name}"), "name the resource"},
		"all resources":                          {network + notes("${string(resources)}"), "name the resource"},
		"another part of a resource":             {network + notes("${resources.net.spec.vars}"), "has name, status, outputs and outputsSecret"},
		"an output that does not exist":          {network + notes("${resources.net.outputs.arn}"), "the program does not have"},
		"a sensitive output":                     {network + notes("${resources.net.outputs.key}"), "which is sensitive"},
		"all outputs":                            {network + notes("${resources.net.outputs}"), "name the output"},
		"the content of a Secret":                {"\n- id: s\n  template: {apiVersion: v1, kind: Secret}" + notes("${resources.s.outputs.password}"), "a Secret has no outputs"},
		"a field that the schema does not have":  {notes("${spec.colour}"), "no field spec.colour"},
		"an inner field":                         {notes("${spec.db.port}"), "no field spec.db.port"},
		"an expression that does not end":        {notes("${spec.cidr"), "} is missing"},
		"an expression that is none":             {notes("${spec.}"), "failed to parse"},
		"an unknown variable":                    {notes("${instance.name}"), "undeclared reference"},
		"a condition about resources":            {network + notes("a") + "  includeWhen: [\"resources.net.name == 'a'\"]\n", "undeclared reference"},
		"a variable that the program lacks":      {stack("vars: [{name: b, value: 1}], inline: {main.tf: ''}"), "no variable \"b\""},
		"a variable without a value":             {stack("inline: {main.tf: 'variable \"b\" {}'}"), "variable \"b\" needs a value"},
		"a program that does not parse":          {stack("inline: {main.tf: 'output {'}"), "inline:"},
		"two with one name":                      {"\n- id: a\n  template: {apiVersion: v1, kind: Secret, metadata: {name: 'app-${metadata.name}-x'}}\n- id: b\n  template: {apiVersion: v1, kind: Secret, metadata: {name: 'app-${metadata.name}-x'}}", "a and b make the same object"},
		"a cycle":                                {"\n- id: a\n  template: {apiVersion: v1, kind: ConfigMap, data: {x: '${resources.b.name}'}}\n- id: b\n  template: {apiVersion: v1, kind: ConfigMap, data: {x: '${resources.a.name}'}}", "form a cycle: a -> b -> a"},
		"a dependency on nothing":                {notes("a") + "  dependsOn: [b]\n", "not the id of another resource"},
		"an output of nothing":                   {notes("a") + "outputs: {x: '${resources.b.name}'}\n", "there is no resource"},
		"a ready that reads others":              {network + notes("a") + "  readyWhen: [resources.net.name != '']\n", "undeclared reference"},
	} {
		t.Run(sentence, func(t *testing.T) {
			b, s := backend(t, test.in)
			if c, list := composition.Parse(b, s); c != nil || !strings.Contains(list.String(), test.want) {
				t.Errorf("the findings are %q, want %q", list, test.want)
			}
		})
	}
}

// Whoever chooses the name of a Secret reads the Secrets of others.
func TestUsersChooseNoSecretThatIsRead(t *testing.T) {
	const secret = "- id: other\n  template: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {writeOutputsToSecret: {name: 'app-${metadata.name}-out'}}}\n- id: creds\n  template: {apiVersion: v1, kind: Secret, metadata: {name: 'app-${metadata.name}-creds'}}\n"
	varsFrom := func(kind, name string) string {
		return network + secret + "- id: a\n  template: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {varsFrom: [{kind: " + kind + ", name: '" + name + "'}]}}\n"
	}
	valuesFrom := func(kind, name string) string {
		return network + secret + "- id: a\n  template: {apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, spec: {valuesFrom: [{kind: ConfigMap, name: a}, {kind: " + kind + ", name: '" + name + "'}]}}\n"
	}
	for sentence, test := range map[string]struct {
		kind, name string
		allowed    bool
	}{
		"a fixed name":                           {"Secret", "cloud", true},
		"the outputs of a stack":                 {"Secret", "${resources.net.outputsSecret}", true},
		"a Secret of the instance":               {"Secret", "${ resources.creds.name }", true},
		"a Secret of the instance, by its name":  {"Secret", "app-${metadata.name}-creds", true},
		"the outputs of a stack, by their name":  {"Secret", "app-${metadata.name}-out", true},
		"a field of the user":                    {"Secret", "${spec.cidr}", false},
		"the instance's name":                    {"Secret", "${metadata.name}", false},
		"a name with that of the instance":       {"Secret", "tfstate-default-${metadata.name}", false},
		"a choice":                               {"Secret", "${spec.cidr == \"a\" ? resources.net.outputsSecret : \"b\"}", false},
		"an output":                              {"Secret", "${resources.net.outputs.id}", false},
		"the outputs of a stack, and more":       {"Secret", "${resources.net.outputsSecret}${spec.cidr}", false},
		"the name of a stack":                    {"Secret", "${resources.net.name}", false},
		"a ConfigMap that is named like Secrets": {"ConfigMap", "${resources.creds.name}", false},
		"a ConfigMap with the name of a Secret":  {"ConfigMap", "app-${metadata.name}-creds", false},
		"a ConfigMap with the name of outputs":   {"ConfigMap", "${resources.net.outputsSecret}", false},
	} {
		for field, in := range map[string]string{"varsFrom": varsFrom(test.kind, test.name), "valuesFrom": valuesFrom(test.kind, test.name)} {
			t.Run(sentence+"/"+field, func(t *testing.T) {
				b, s := backend(t, in)
				c, list := composition.Parse(b, s)
				refused := strings.Contains(list.String(), "must not choose which Secret")
				if (c != nil) != test.allowed || refused == test.allowed {
					t.Errorf("the findings are %q", list)
				}
			})
		}
	}
}

// needs are the needs of all resources, in their order.
func needs(c *composition.Composition) string {
	var all []string
	for _, r := range c.Resources {
		all = append(all, r.ID+"("+strings.Join(r.Needs, ",")+")")
	}
	return strings.Join(all, " ")
}

func TestNeedsAreInferred(t *testing.T) {
	release := "\n- id: web\n  template: {apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, spec: {valuesFrom: [{kind: Secret, name: SECRET}]}}\n"
	for sentence, test := range map[string]struct{ in, want string }{
		"none":                           {notes("${metadata.name}") + network, "notes() net()"},
		"an expression":                  {notes("${resources.net.outputs.id}") + network, "net() notes(net)"},
		"two of them":                    {notes("${resources.net.outputs.id} in ${resources.web.name}") + network + release, "net() web() notes(net,web)"},
		"dependsOn":                      {notes("a") + "  dependsOn: [net]\n" + network, "net() notes(net)"},
		"a Secret with a stack's output": {strings.Replace(release, "SECRET", "'${resources.net.outputsSecret}'", 1) + network, "net() web(net)"},
		"a reference by name":            {strings.Replace(release, "SECRET", "'app-${metadata.name}-creds'", 1) + "- id: creds\n  template: {apiVersion: v1, kind: Secret}\n", "creds() web(creds)"},
		"an optional output":             {notes("${resources.net.?outputs.?id.orValue(\"\")}") + network, "net() notes(net)"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := needs(parse(t, test.in)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestObjects(t *testing.T) {
	c := parse(t, network+`
- id: web
  template:
    apiVersion: helm.toolkit.fluxcd.io/v2
    kind: HelmRelease
    metadata: {name: "app-${metadata.name}", labels: {size: "${spec.size}"}}
    spec:
      chartRef: {kind: HelmChart, name: web}
      values:
        size: "${spec.size}"
        large: "${spec.?large}"
        text: "size ${spec.size}, debug ${spec.debug}, $${literal}"
        zones: "${spec.zones.map(z, z + '!')}"
        map: "${{'a': spec.size}}"
        list: ["${spec.?large}", "${resources.net.outputs.id}", 7]
        braces: "${'}' + metadata.name}"
      valuesFrom: [{kind: Secret, name: "${resources.net.outputsSecret}"}]
`)
	i := &composition.Instance{Name: "shop", Namespace: "team", Spec: map[string]any{"cidr": "${spec.size}", "size": int64(3), "debug": false, "zones": []any{"a", "b"}}}
	seen := map[string]composition.Seen{"net": {Name: "app-shop-net", Outputs: map[string]any{"id": "vpc-1"}, OutputsSecret: "app-shop-net-outputs"}}
	u, err := c.Resource("web").Object(t.Context(), i, seen)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
		"metadata": map[string]any{"name": "app-shop", "namespace": "team", "labels": map[string]any{"size": "3"}},
		"spec": map[string]any{
			"chartRef": map[string]any{"kind": "HelmChart", "name": "web"},
			"values": map[string]any{
				"size": int64(3), "text": "size 3, debug false, ${literal}", "zones": []any{"a!", "b!"}, "map": map[string]any{"a": int64(3)},
				"list": []any{"vpc-1", int64(7)}, "braces": "}shop",
			},
			"valuesFrom": []any{map[string]any{"kind": "Secret", "name": "app-shop-net-outputs"}},
		},
	}
	if diff := cmp.Diff(want, u.Object); diff != "" {
		t.Error(diff)
	}
	// What a user writes is data: it is not evaluated again, and the program stays as it is.
	u, err = c.Resource("net").Object(t.Context(), i, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec := u.Object["spec"].(map[string]any)
	if diff := cmp.Diff([]any{map[string]any{"name": "cidr", "value": "${spec.size}"}}, spec["vars"]); diff != "" {
		t.Error(diff)
	}
	if program := spec["inline"].(map[string]any)["main.tf"].(string); !strings.Contains(program, "${var.cidr}") {
		t.Errorf("the program is %s", program)
	}
	if diff := cmp.Diff(map[string]any{"name": "app-shop-net-outputs"}, spec["writeOutputsToSecret"]); diff != "" {
		t.Error(diff)
	}
}

func TestASecretForOutputsWithANameOfItsOwn(t *testing.T) {
	c := parse(t, strings.Replace(network, "      vars:", "      writeOutputsToSecret: {name: 'out-${metadata.name}', outputs: [id]}\n      vars:", 1))
	u, err := c.Resource("net").Object(t.Context(), &composition.Instance{Name: "shop", Spec: map[string]any{"cidr": "a"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "out-shop", "outputs": []any{"id"}}
	if diff := cmp.Diff(want, u.Object["spec"].(map[string]any)["writeOutputsToSecret"]); diff != "" || c.Resource("net").OutputsSecret("shop") != "out-shop" {
		t.Error(diff)
	}
}

// TestTextsOfSecretsAreData: else a key that the template loses would stay in the Secret for ever.
func TestTextsOfSecretsAreData(t *testing.T) {
	for sentence, test := range map[string]struct {
		in   string
		want map[string]any
		err  string
	}{
		"texts":                {"stringData: {size: 'size ${spec.size}', empty: ''}", map[string]any{"size": "c2l6ZSAz", "empty": ""}, ""},
		"both: a text wins":    {"data: {a: b2xk, b: Yg==}, stringData: {a: new}", map[string]any{"a": "bmV3", "b": "Yg=="}, ""},
		"data alone":           {"data: {b: Yg==}", map[string]any{"b": "Yg=="}, ""},
		"a number":             {"stringData: {port: 5432}", nil, "resource creds, stringData.port: it is not a text"},
		"a list":               {"stringData: [a]", nil, "are objects of texts"},
		"a text beside a list": {"data: [a], stringData: {a: b}", nil, "are objects of texts"},
		"no texts":             {"stringData: {}", map[string]any{}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := parse(t, "\n- id: creds\n  template: {apiVersion: v1, kind: Secret, "+test.in+"}\n")
			u, err := c.Resource("creds").Object(t.Context(), &composition.Instance{Name: "shop", Spec: map[string]any{"size": int64(3)}}, nil)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "5432") {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, u.Object["data"]); diff != "" || u.Object["stringData"] != nil {
				t.Errorf("%v %s", u.Object, diff)
			}
		})
	}
}

func TestObjectsThatCannotBeMade(t *testing.T) {
	i := &composition.Instance{Name: "shop", Namespace: "team", Spec: map[string]any{"zones": []any{"a"}}}
	for data, want := range map[string]string{
		"${spec.large}":               "resource notes, data.x: ${spec.large}: no such key: large; it has no value here",
		"${spec.zones}":               "is not a text, number or boolean",
		"all: ${spec.zones}":          "is not a text, number or boolean",
		"${spec.zones[5]}":            "index out of bounds",
		"${resources.net.outputs.id}": "no such key",
	} {
		c := parse(t, network+notes(data))
		seen := map[string]composition.Seen{"net": {Name: "app-shop-net"}}
		if _, err := c.Resource("notes").Object(t.Context(), i, seen); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", data, err, want)
		}
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	c := parse(t, network+"  includeWhen: [spec.size > 2, '!spec.debug']\n"+notes("${resources.net.outputs.id}")+"\n- id: other\n  template: {apiVersion: v1, kind: Secret}\n")
	for sentence, test := range map[string]struct {
		spec map[string]any
		want map[string]bool
	}{
		"all":                              {map[string]any{"size": int64(3), "debug": false}, map[string]bool{"net": true, "notes": true, "other": true}},
		"one, and the one that needs it":   {map[string]any{"size": int64(2), "debug": false}, map[string]bool{"net": false, "notes": false, "other": true}},
		"one because of another condition": {map[string]any{"size": int64(3), "debug": true}, map[string]bool{"net": false, "notes": false, "other": true}},
	} {
		got, err := c.Included(t.Context(), &composition.Instance{Name: "shop", Spec: test.spec})
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", sentence, err, diff)
		}
	}
	if _, err := c.Included(t.Context(), &composition.Instance{Name: "shop"}); err == nil || !strings.Contains(err.Error(), "includeWhen of resource net") {
		t.Errorf("a condition without value: %v", err)
	}
}

func TestReadyWhenAndOutputs(t *testing.T) {
	c := parse(t, network+"  readyWhen: [self.status.phase == 'Done']\n"+notes("a")+"outputs: {id: '${resources.net.outputs.id}', both: '${resources.net.name} ${resources.notes.name}', name: '${metadata.name}'}\n")
	r := c.Resource("net")
	if ok, why := r.Ready(t.Context(), composition.Seen{}); ok || !strings.Contains(why, "is not known yet") {
		t.Errorf("without a status: %v %s", ok, why)
	}
	if ok, why := r.Ready(t.Context(), composition.Seen{Status: map[string]any{"phase": "New"}}); ok || why != "readyWhen self.status.phase == 'Done' is not true yet" {
		t.Errorf("not yet: %v %s", ok, why)
	}
	if ok, _ := r.Ready(t.Context(), composition.Seen{Status: map[string]any{"phase": "Done"}}); !ok {
		t.Error("it is not ready")
	}
	i := &composition.Instance{Name: "shop"}
	seen := map[string]composition.Seen{"net": {Name: "n", Outputs: map[string]any{"id": int64(7)}}}
	got, problems := c.Outputs(t.Context(), i, seen)
	if diff := cmp.Diff(map[string]any{"id": int64(7), "name": "shop"}, got); diff != "" || problems != nil {
		t.Errorf("%v %s", problems, diff)
	}
	seen["net"] = composition.Seen{Name: "n"}
	if _, problems := c.Outputs(t.Context(), i, seen); len(problems) != 1 || !strings.Contains(problems[0], "output id: ${resources.net.outputs.id}: no such key") {
		t.Errorf("the problems are %v", problems)
	}
}

func TestPreview(t *testing.T) {
	c := parse(t, network+notes("${resources.net.outputs.id} ${spec.size}")+"\n- id: creds\n  template: {apiVersion: v1, kind: Secret, stringData: {password: s3cr3t}}\n- id: no\n  includeWhen: [spec.debug]\n  template: {apiVersion: v1, kind: Secret}\n")
	got, err := c.Known(t.Context(), &composition.Instance{Name: "shop", Namespace: "team", Spec: map[string]any{"cidr": "10.0.0.0/8", "size": int64(3), "debug": false}})
	if err != nil {
		t.Fatal(err)
	}
	if values, _ := got["creds"].Object["data"].(map[string]any); values["password"] != "czNjcjN0" {
		t.Errorf("the Secret has the values %v", values)
	}
	composition.Hide(got)
	text, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"x: ${resources.net.outputs.id} ${spec.size}", "password: (hidden)", "value: 10.0.0.0/8", "name: app-shop-net"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "s3cr3t") || strings.Contains(string(text), "czNjcjN0") || got["no"] != nil {
		t.Errorf("it has too much:\n%s", text)
	}
}
