// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"
)

func TestPrograms(t *testing.T) {
	for sentence, test := range map[string]struct {
		template string
		want     []string
	}{
		"a block with two arguments on one line, as the published guide has it": {
			stackOf("locals {}\nvariable \"a\" { type = string  default = \"x\" }\n", ""), []string{"error manifests[db]: main.tf:2:…: Invalid single-argument block definition: …"}},
		"a bracket that is never closed": {stackOf("locals {\n", ""), []string{"error manifests[db]: main.tf:…"}},
		"in values.hcl": {`manifests:
- id: db
  nameTemplate: "{{ .uid }}-db"
  spec:
    apiVersion: infra.contrib.fluxcd.io/v1alpha2
    kind: Terraform
    spec: {interval: 1h, values: {hcl: "variable \"name\" {}\n"}, vars: [{name: nam, value: x}]}
`, []string{`error manifests[db]: spec.vars[0]: the program does not declare a variable "nam"; it declares name`, `error manifests[db]: main.tf:1: variable "name": it has neither a value nor a default`}},
		"a module below it": {`manifests:
- id: db
  nameTemplate: "{{ .uid }}-db"
  spec:
    apiVersion: infra.contrib.fluxcd.io/v1alpha2
    kind: Terraform
    spec: {interval: 1h, inline: {main.tf: "module \"m\" {\n  source = \"./m\"\n}\n", m/main.tf: "variable \"x\" {\n", m/README.md: "# {"}}
`, []string{"error manifests[db]: m/main.tf:1:…"}},
		"a directory that the program lacks":  {stackOf("locals {}\n", "path: live"), []string{`error manifests[db]: the program does not contain the directory "live"; check spec.path`}},
		"a backend that has no effect":        {stackOf("terraform {\n  backend \"kubernetes\" {}\n}\n", ""), []string{`warning manifests[db]: main.tf:2: the backend "kubernetes" has no effect, …spec.backendConfig.disable`}},
		"a backend of its own":                {stackOf("terraform {\n  backend \"s3\" {}\n}\n", "backendConfig: {disable: true}"), nil},
		"a field that the kind does not have": {stackOf("locals {}\n", "vaules: {}"), []string{`error manifests[db]: unknown field "spec.vaules"`}},
		"a field of another type":             {stackOf("locals {}\n", "vars: 3"), []string{"error manifests[db]: it is not a valid Terraform: spec.vars is a number, and not a []v1alpha2.Variable"}},
		"a name that YAML takes for a truth":  {stackOf("locals {}\n", "vars: [{name: n, value: 1}]"), []string{"error manifests[db]: it is not a valid Terraform: spec.vars.name is a bool, and not a string"}},
		"no program": {`manifests:
- id: db
  nameTemplate: "{{ .uid }}-db"
  spec: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {interval: 1h}}
`, []string{"error manifests[db]: the stack has no program: set spec.sourceRef, spec.inline or spec.values.hcl"}},
		"a text of the row in it": {stackOf("locals {\n  plan = \"{{ .plan | upper }}\"\n  uid  = \"{{ .uid }}-{{ .size | int }}\"\n  more = \"{{ .plan }}\"\n  safe = {{ hcl .zones }}\n}\n", ""), []string{
			"warning manifests[db]: spec.inline[main.tf]: the text of .plan becomes part of the program, and could be more than a value; …spec.vars, …"}},
		"a program from a repository, of which nothing is known": {`manifests:
- id: db
  nameTemplate: "{{ .uid }}-db"
  spec:
    apiVersion: infra.contrib.fluxcd.io/v1alpha2
    kind: Terraform
    spec: {interval: 1h, sourceRef: {kind: GitRepository, name: infra}, vars: [{name: anything, value: 1}], writeOutputsToSecret: {name: "{{ .uid }}-db-outputs"}}
` + reader("whatever", ""), nil},
		"a program that would be made when the run begins": {`manifests:
- id: db
  nameTemplate: "{{ .uid }}-db"
  spec:
    apiVersion: infra.contrib.fluxcd.io/v1alpha2
    kind: Terraform
    spec: {interval: 1h, inline: {main.tf.tpl: "nonsense {"}, vars: [{name: anything, value: 1}]}
`, []string{"error manifests[db]: spec.spec.inline.main.tf.tpl: …main.tf"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			findings, err := Template(t.Context(), Subject{Template: templateOf(t, test.template), Row: acme()}, nil)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, findings, test.want)
		})
	}
}

func TestVariables(t *testing.T) {
	const settings = `configMaps: [{id: settings, nameTemplate: "{{ .uid }}-settings", spec: {data: {size: "{{ .plan }}", more: x}}}]` + "\n"
	for sentence, test := range map[string]struct {
		program, spec, more string
		want                []string
	}{
		"no value":                               {sized, "", "", []string{`error manifests[db]: main.tf:1: variable "size": it has neither a value nor a default (number)`}},
		"a default":                              {"variable \"size\" {\n  default = 1\n}\n", "", "", nil},
		"a name written wrong":                   {sized, "vars: [{name: size, value: 1}, {name: sise, value: 1}]", "", []string{`error manifests[db]: spec.vars[1]: the program does not declare a variable "sise"; it declares size`}},
		"a value of another type":                {sized, `vars: [{name: size, value: "{{ .plan }}"}]`, "", []string{`error manifests[db]: main.tf:1: spec.vars[0]: variable "size": a number is required…`}},
		"a value from a Secret of somebody else": {sized, "vars: [{name: size, valueFrom: {secretKeyRef: {name: s, key: size}}}]", "", nil},
		"all of a Secret of somebody else":       {sized, "varsFrom: [{kind: Secret, name: s}]", "", nil},
		"some keys of a Secret of somebody else": {sized, "varsFrom: [{kind: Secret, name: s, varsKeys: [other]}]", "", []string{
			`error manifests[db]: main.tf:1: variable "size": it has neither a value nor a default…`, `warning manifests[db]: spec.varsFrom[0]: the program does not declare a variable "other"; it declares size`}},
		"keys under other names":                          {sized, `varsFrom: [{kind: Secret, name: s, varsKeys: ["other:size"]}]`, "", nil},
		"keys that providers look for in the environment": {sized, `varsFrom: [{kind: Secret, name: s, varsKeys: [size, AWS_ACCESS_KEY_ID]}]`, "", nil},
		"all of a ConfigMap of the template, one value of another type": {sized, `varsFrom: [{kind: ConfigMap, name: "{{ .uid }}-settings"}]`, settings, []string{
			`error manifests[db]: main.tf:1: variable "size": a number is required…`}},
		"a key of a ConfigMap of the template": {sized, `vars: [{name: size, valueFrom: {configMapKeyRef: {name: "{{ .uid }}-settings", key: size}}}]`, settings, []string{
			`error manifests[db]: main.tf:1: spec.vars[0]: variable "size": a number is required…`}},
		"a ConfigMap of the template that lacks it": {sized + "variable \"late\" {}\n", `varsFrom: [{kind: ConfigMap, name: "{{ .uid }}-settings"}, {kind: ConfigMap, name: "{{ .uid }}-settings", varsKeys: ["more:size"]}]`, settings, []string{
			`error manifests[db]: main.tf:1: spec.varsFrom[1]: variable "size": a number is required…`, `error manifests[db]: main.tf:4: variable "late": it has neither a value nor a default…`}},
		"by the environment":                  {sized, `env: [{name: TF_VAR_size, value: "3"}]`, "", nil},
		"by an environment that is not known": {sized, `envFrom: [{secretRef: {name: s}}]`, "", nil},
		"by a file that joins the module":     {sized, `fileMappings: [{secretRef: {name: s, key: k}, location: workspace, path: more.auto.tfvars}]`, "", nil},
		"one that a joining file may declare": {sized, "vars: [{name: size, value: 1}, {name: late, value: 1}]\nfileMappings: [{secretRef: {name: s, key: k}, location: workspace, path: late.tf}]", "", nil},
		"by a file of values that is nowhere": {sized, `tfVarsFiles: [prod.tfvars]`, "", nil},
		"values for nobody":                   {"locals {}\n", `values: {a: 1}`, "", []string{`warning manifests[db]: spec.values: the program does not declare a variable "values"; it declares none`}},
	} {
		t.Run(sentence, func(t *testing.T) {
			template := templateOf(t, stackOf(test.program, test.spec)+test.more)
			findings, err := Template(t.Context(), Subject{Template: template, Row: acme()}, nil)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, findings, test.want)
		})
	}
}

// The server's configuration decides which keys become environment.
func TestKeysForTheEnvironment(t *testing.T) {
	template := templateOf(t, stackOf(sized, `varsFrom: [{kind: Secret, name: s, varsKeys: [size, AWS_REGION, DATABASE_URL]}]`))
	findings, err := Template(t.Context(), Subject{Template: template, Row: acme(), EnvPrefixes: []string{"AWS_", "PG"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, findings, []string{`warning manifests[db]: spec.varsFrom[0]: the program does not declare a variable "DATABASE_URL"; it declares size; its name does not have a prefix …`})
}

func TestOutputs(t *testing.T) {
	db := stackOf(twoOutputs, toSecret)
	const second = `- id: app-db
  nameTemplate: "{{ .uid }}-app-db"
  spec:
    apiVersion: infra.contrib.fluxcd.io/v1alpha2
    kind: Terraform
    spec:
      interval: 1h
      inline: {main.tf: "variable \"host\" {}\n"}
`
	for sentence, test := range map[string]struct {
		template string
		want     []string
	}{
		"a key that is an output":         {db + reader("port", ""), nil},
		"the type of one":                 {db + reader("port__type", ""), nil},
		"a key that is none":              {db + reader("url", ""), []string{`error deployments[app]: spec.template.spec.containers[0].env[0].valueFrom.secretKeyRef: the Secret acme-db-outputs will have no key "url": it has the outputs of the stack "db", and these are host, port`}},
		"a key that need not be":          {db + reader("url", ", optional: true"), nil},
		"a key by another name":           {stackOf(twoOutputs, `writeOutputsToSecret: {name: "{{ .uid }}-db-outputs", outputs: ["host:url"]}`) + reader("url", ""), nil},
		"a key that is not written":       {stackOf(twoOutputs, `writeOutputsToSecret: {name: "{{ .uid }}-db-outputs", outputs: [host]}`) + reader("port", ""), []string{"error deployments[app]: …these are host"}},
		"outputs that the program lacks":  {stackOf(twoOutputs, `writeOutputsToSecret: {name: "{{ .uid }}-db-outputs", outputs: [host, url]}`), []string{`error manifests[db]: spec.writeOutputsToSecret.outputs[1]: the program does not have an output "url"; it has host, port`}},
		"no outputs at all":               {stackOf("locals {}\n", toSecret) + reader("host", ""), []string{"error deployments[app]: …and that has none"}},
		"a program with a mistake":        {stackOf("locals {\n", toSecret) + reader("host", ""), []string{"error manifests[db]: main.tf:…"}},
		"another stack takes all":         {db + second + `      varsFrom: [{kind: Secret, name: "{{ .uid }}-db-outputs"}]` + "\n", nil},
		"another stack takes one that is": {db + second + `      varsFrom: [{kind: Secret, name: "{{ .uid }}-db-outputs", varsKeys: [host]}]` + "\n", nil},
		"another stack takes one that is none": {db + second + `      varsFrom: [{kind: Secret, name: "{{ .uid }}-db-outputs", varsKeys: ["url:host"]}]` + "\n",
			[]string{`error manifests[app-db]: spec.varsFrom[0].varsKeys[0]: the Secret acme-db-outputs will have no key "url"…`}},
		"a volume": {db + `statefulSets:
- id: app
  nameTemplate: "{{ .uid }}-app"
  spec: {spec: {template: {spec: {volumes: [{name: a, secret: {secretName: "{{ .uid }}-db-outputs", items: [{key: host, path: h}, {key: url, path: u}]}}, {name: b, projected: {sources: [{secret: {name: "{{ .uid }}-db-outputs", items: [{key: uri, path: u}]}}]}}]}}}}
`, []string{"error statefulSets[app]: spec.template.spec.volumes[0].secret.items[1]: …\"url\"…", "error statefulSets[app]: spec.template.spec.volumes[1].projected.sources[0].secret.items[0]: …\"uri\"…"}},
		"a stack's own templates": {db + second + `      vars: [{name: host, value: h}]
      readInputsFromSecrets: [{name: "{{ .uid }}-db-outputs", as: db}, {name: other, as: far}]
      values: {a: "${{ .db.host }} ${{ .db.url }} ${{ .far.any }} ${{ .db.uri | default \"x\" }}"}
`, []string{`error manifests[app-db]: spec.values: .db.url will have no value: the outputs of the stack "db" have no key "url", and these are host, port`,
			`warning manifests[app-db]: spec.values: the program does not declare a variable "values"; it declares host`}},
		"a release of a chart": {db + `- id: chart
  nameTemplate: "{{ .uid }}-chart"
  spec: {apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, spec: {valuesFrom: [{kind: Secret, name: "{{ .uid }}-db-outputs", valuesKey: url, targetPath: a}, {kind: Secret, name: "{{ .uid }}-db-outputs", valuesKey: host}]}}
`, []string{`error manifests[chart]: spec.valuesFrom[0].valuesKey: the Secret acme-db-outputs will have no key "url"…`}},
		"a Secret of the same name": {db + `secrets: [{id: own, nameTemplate: "{{ .uid }}-db-outputs", spec: {stringData: {host: x}}}]` + "\n", []string{`error secrets[own]: the stack "db" writes its outputs to a Secret of this name…`}},
		"two stacks and one Secret": {db + second + `      vars: [{name: host, value: h}]
      writeOutputsToSecret: {name: "{{ .uid }}-db-outputs"}
`, []string{`error manifests[app-db]: spec.writeOutputsToSecret: the Secret acme-db-outputs already has the outputs of the stack "db"`}},
	} {
		t.Run(sentence, func(t *testing.T) {
			findings, err := Template(t.Context(), Subject{Template: templateOf(t, test.template), Row: acme()}, nil)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, findings, test.want)
		})
	}
}

func FuzzReferences(f *testing.F) {
	for _, seed := range []string{`{"kind":"Secret","name":"a","varsKeys":["b:c",1]}`, `{"spec":{"secretKeyRef":{"name":"a","key":"b"}}}`, `{"secret":{"secretName":"a","items":[{"key":"b"},3]}}`,
		`{"secretRef":null,"secret":[[]],"keys":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, ref := range references(objectOf(data)) {
			if ref.name == "" || ref.key == "" {
				t.Errorf("%s: a reference to nothing: %+v", data, ref)
			}
		}
	})
}
