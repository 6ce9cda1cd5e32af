// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// objects is a namespace's Secrets and ConfigMaps, as the API answers for them.
type objects struct {
	secrets, configMaps map[string]map[string]string
	// open are the annotations of Secrets with outputs.
	open  map[string]string
	reads int
	down  error
}

func (o *objects) ConfigMap(_ context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	o.reads++
	data, ok := o.configMaps[name]
	if !ok || namespace != "team-a" {
		return nil, errors.Join(o.down, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name))
	}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}, Data: data}, o.down
}

func (o *objects) Secret(_ context.Context, namespace, name string) (*corev1.Secret, error) {
	o.reads++
	if o.down != nil {
		return nil, o.down
	}
	data, ok := o.secrets[name]
	if !ok || namespace != "team-a" {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
	}
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9"}, Data: map[string][]byte{}}
	if open := o.open[name]; open != "" {
		s.Annotations = map[string]string{infrav1.OpenOutputsAnnotation: open}
	}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s, nil
}

func world() *objects {
	return &objects{
		secrets: map[string]map[string]string{
			"db":     {"password": "hunter2!", "port": "5432"},
			"binary": {"key": "\xff\xfe"},
			"env":    {"AWS_KEY": "AKIA1234", "not a name": "x"},
		},
		configMaps: map[string]map[string]string{
			"shared": {"region": "eu", "size": "3"},
			"env":    {"REGION": "eu", "AWS_KEY": "from-config"},
			"evil":   {"PATH": "/evil"},
		},
	}
}

func spec(t *testing.T, text string) *infrav1.TerraformSpec {
	t.Helper()
	var s infrav1.TerraformSpec
	if err := yaml.UnmarshalStrict([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// flat shows inputs as text, those of Secrets with a star.
func flat(in *Inputs) map[string]string {
	out := map[string]string{}
	star, open := map[bool]string{true: "*"}, map[bool]string{true: " open"}
	for name, v := range in.Variables {
		out["var "+name] = string(v.JSON) + star[v.Secret] + open[v.Open]
	}
	for _, e := range in.Env {
		out["env "+e.Name] = e.Value.Reveal() + star[e.Secret] + open[e.Open]
	}
	for _, s := range in.Settings {
		out["setting "+s.Name] = s.Value.Reveal() + star[s.Secret]
	}
	for _, f := range in.Files {
		out[string(f.Location)+" "+f.Path] = f.Content.Reveal()
	}
	if config := in.CLIConfig.Reveal(); config != "" {
		out["config"] = config
	}
	return out
}

func TestResolve(t *testing.T) {
	cases := map[string]struct {
		spec string
		want map[string]string
	}{
		"vars keep their JSON": {
			`vars: [{name: num, value: 3}, {name: o, value: {a: [1, "x"]}}, {name: s, value: "3"}, {name: nothing}]`,
			map[string]string{"var num": "3", "var o": `{"a":[1,"x"]}`, "var s": `"3"`, "var nothing": "null"},
		},
		"valueFrom reads a key as a string": {
			`vars: [{name: p, valueFrom: {secretKeyRef: {name: db, key: port}}}, {name: r, valueFrom: {configMapKeyRef: {name: shared, key: region}}}]`,
			map[string]string{"var p": `"5432"*`, "var r": `"eu"`},
		},
		"an optional key that is missing sets nothing": {
			`vars: [{name: p, valueFrom: {secretKeyRef: {name: db, key: nope, optional: true}}}, {name: q, valueFrom: {secretKeyRef: {name: nope, key: x, optional: true}}}]`,
			map[string]string{},
		},
		"varsFrom takes all keys": {
			`varsFrom: [{kind: Secret, name: db}]`,
			map[string]string{"var password": `"hunter2!"*`, "var port": `"5432"*`},
		},
		"varsKeys select and rename": {
			`varsFrom: [{kind: ConfigMap, name: shared, varsKeys: ["region:zone"]}]`,
			map[string]string{"var zone": `"eu"`},
		},
		"an optional object that is missing sets nothing": {
			`varsFrom: [{kind: Secret, name: nope, optional: true}, {kind: ConfigMap, name: nope, optional: true, varsKeys: [a]}]`,
			map[string]string{},
		},
		"varsKeys of an optional Secret that is missing are empty strings": {
			`{vars: [{name: b, value: before}], varsFrom: [{kind: Secret, name: nope, optional: true, varsKeys: [a, "x:b"]}]}`,
			map[string]string{"var a": `""*`, "var b": `""*`},
		},
		"a key that a Secret lacks is the empty string, one that a ConfigMap lacks is left out": {
			`{vars: [{name: c, value: before}], varsFrom: [{kind: Secret, name: db, varsKeys: [port, "nope:a"]}, {kind: ConfigMap, name: shared, varsKeys: [region, nope, "gone:c"]}]}`,
			map[string]string{"var port": `"5432"*`, "var a": `""*`, "var region": `"eu"`, "var c": `"before"`},
		},
		"varsFrom wins over vars, vars over values, and the last of varsFrom over all": {
			`{values: {a: 1}, vars: [{name: values, value: 2}, {name: port, value: 1}], varsFrom: [{kind: Secret, name: db, varsKeys: [port]}, {kind: ConfigMap, name: shared, varsKeys: ["size:port"]}]}`,
			map[string]string{"var values": "2", "var port": `"3"`},
		},
		"values is one variable": {
			`values: {b: 1, a: ["x"]}`, map[string]string{"var values": `{"a":["x"],"b":1}`},
		},
		"values.hcl is a program and no variable": {
			`values: {hcl: "terraform {}"}`, map[string]string{},
		},
		"env wins over envFrom, and the last of envFrom over those before": {
			`{envFrom: [{configMapRef: {name: env}}, {secretRef: {name: env}}, {configMapRef: {name: env}, prefix: P_}, {secretRef: {name: nope, optional: true}}], env: [{name: REGION, value: us}, {name: PW, valueFrom: {secretKeyRef: {name: db, key: password}}}, {name: TF_VAR_x, value: "1"}, {name: TF_ENCRYPTION, value: e}]}`,
			map[string]string{
				"env REGION": "us", "env AWS_KEY": "AKIA1234*", "env P_REGION": "eu", "env P_AWS_KEY": "from-config",
				"env PW": "hunter2!*", "env TF_VAR_x": "1", "env TF_ENCRYPTION": "e",
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in, err := Resolve(t.Context(), world(), "team-a", spec(t, c.spec))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, flat(in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEverythingThatIsWrongIsReportedTogether(t *testing.T) {
	in, err := Resolve(t.Context(), world(), "team-a", spec(t, `
vars:
- {name: a, valueFrom: {secretKeyRef: {name: db, key: nope}}}
- {name: b, value: 1, valueFrom: {configMapKeyRef: {name: shared, key: region}}}
- {name: c, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
varsFrom:
- {kind: Secret, name: gone}
- {kind: Secret, name: binary}
- {kind: Pod, name: x}
envFrom:
- {configMapRef: {name: evil}}
- {}
env:
- {name: TF_CLI_ARGS_plan, value: -destroy}
- {name: "A B", value: x}
- {name: LD_PRELOAD, value: x}
- {name: HOME, value: x}
`))
	var problems *Error
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	want := `12 inputs are missing or wrong:
  spec.vars[0]: Secret team-a/db: has no key "nope"
  spec.vars[1]: variable "b" has both value and valueFrom; set only one
  spec.vars[2]: valueFrom needs secretKeyRef or configMapKeyRef; a stack has no Pod whose fields could be read
  spec.varsFrom[0]: Secret team-a/gone: does not exist
  spec.varsFrom[1]: Secret team-a/binary: the value of key "key" is not text (UTF-8)
  spec.varsFrom[2]: kind must be Secret or ConfigMap, not "Pod"
  spec.envFrom[0]: the environment variable PATH cannot be set: Yuba sets it
  spec.envFrom[1]: secretRef or configMapRef is missing
  spec.env[0]: the environment variable TF_CLI_ARGS_plan cannot be set: arguments come from the fields of the object
  spec.env[1]: "A B" is not a valid name of an environment variable
  spec.env[2]: the environment variable LD_PRELOAD cannot be set: it would change the programs that run
  spec.env[3]: the environment variable HOME cannot be set: Yuba sets it`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
	references := []Reference{
		{"ConfigMap", "team-a", "evil", "7"}, {"Secret", "team-a", "binary", "9"}, {"Secret", "team-a", "db", "9"}, {"Secret", "team-a", "gone", ""},
	}
	if diff := cmp.Diff(references, in.References); diff != "" {
		t.Error(diff)
	}
}

func TestAnAPIThatDoesNotAnswerIsNotTheUsersFault(t *testing.T) {
	w := world()
	w.down = errors.New("connection refused")
	in, err := Resolve(t.Context(), w, "team-a", spec(t, `varsFrom: [{kind: Secret, name: db}, {kind: Secret, name: gone}]`))
	var problems *Error
	if in != nil || !errors.Is(err, w.down) || errors.As(err, &problems) {
		t.Errorf("%v %v", in, err)
	}
}

func TestObjectsAreReadOnce(t *testing.T) {
	w := world()
	if _, err := Resolve(t.Context(), w, "team-a", spec(t, `{varsFrom: [{kind: Secret, name: db}, {kind: Secret, name: db}], env: [{name: A, valueFrom: {secretKeyRef: {name: db, key: port}}}]}`)); err != nil || w.reads != 1 {
		t.Errorf("%d reads, %v", w.reads, err)
	}
}

func TestKeysThatAreNoNamesAreAWarning(t *testing.T) {
	in, err := Resolve(t.Context(), world(), "team-a", spec(t, `envFrom: [{secretRef: {name: env}}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`spec.envFrom[0]: Secret team-a/env: key "not a name" is not a valid name of an environment variable and is not used`}
	if diff := cmp.Diff(want, in.Warnings); diff != "" {
		t.Error(diff)
	}
}

func digestOf(t *testing.T, text string) string {
	t.Helper()
	in, err := Resolve(t.Context(), world(), "team-a", spec(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return in.Digest
}

func TestDigest(t *testing.T) {
	base := digestOf(t, `{vars: [{name: a, value: {x: 1, y: 2}}, {name: r, value: eu}], env: [{name: B, value: "1"}]}`)
	for name, c := range map[string]struct {
		spec string
		same bool
	}{
		"order and white space do not matter":        {`{env: [{name: B, value: "1"}], vars: [{name: r, value: eu}, {name: a, value: {y: 2, x: 1}}]}`, true},
		"where a value comes from does not matter":   {`{vars: [{name: a, value: {x: 1, y: 2}}], varsFrom: [{kind: ConfigMap, name: shared, varsKeys: ["region:r"]}], env: [{name: B, value: "1"}]}`, true},
		"a value matters":                            {`{vars: [{name: a, value: {x: 1, y: 3}}, {name: r, value: eu}], env: [{name: B, value: "1"}]}`, false},
		"a type matters":                             {`{vars: [{name: a, value: {x: 1, y: "2"}}, {name: r, value: eu}], env: [{name: B, value: "1"}]}`, false},
		"a name matters":                             {`{vars: [{name: a, value: {x: 1, y: 2}}, {name: q, value: eu}], env: [{name: B, value: "1"}]}`, false},
		"environment and variables are not mixed up": {`{vars: [{name: a, value: {x: 1, y: 2}}, {name: r, value: eu}, {name: B, value: 1}]}`, false},
	} {
		if got := digestOf(t, c.spec); (got == base) != c.same {
			t.Errorf("%s: %s and %s", name, base, got)
		}
	}
}

func TestMasks(t *testing.T) {
	w := world()
	w.secrets["m"] = map[string]string{
		"json": `{"token":"tok&en","nested":["deep-secret"],"n":123456}`, "pem": "-----BEGIN-----\nMIIabcdefghijk\n", "short": "abc", "bool": "true",
		"quote": `say "hi"`,
	}
	in, err := Resolve(t.Context(), w, "team-a", spec(t, `{varsFrom: [{kind: Secret, name: m}], vars: [{name: open, value: not-a-secret}], env: [{name: A, valueFrom: {secretKeyRef: {name: db, key: password}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"tok&en", `tok\u0026en`, "deep-secret", "123456", "MIIabcdefghijk", `say \"hi\"`, "hunter2!", "aHVudGVyMi"} {
		if got := in.Hide("is " + text); strings.Contains(got, text) {
			t.Errorf("%q is not masked: %s", text, got)
		}
	}
	for _, text := range []string{"is abcd", "true", "not-a-secret", "tokens", ""} {
		if got := in.Hide(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestValuesDoNotShowThemselves(t *testing.T) {
	v := NewValue("hunter2!")
	e := EnvVar{Name: "A", Value: v, Secret: true}
	variable := Variable{JSON: quoted("hunter2!"), Secret: true}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "value", v, "env", e)
	encoded, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(v), fmt.Sprintf("%s %v %+v %#v %q %x %d", v, v, v, v, v, v, v), fmt.Sprintf("%v %+v %#v", e, e, e),
		fmt.Sprintf("%v %+v %#v %s", variable, variable, variable, variable), fmt.Sprintf("%v", []any{v, &e}), log.String(), string(encoded),
	} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("shown in %s", text)
		}
	}
	if v.Reveal() != "hunter2!" {
		t.Error("not revealed")
	}
}
