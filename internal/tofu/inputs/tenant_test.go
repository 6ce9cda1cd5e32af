// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// shared is a world whose objects are labelled with tenants, by their names, and are in all
// namespaces.
type shared struct {
	*objects
	tenants map[string]string
}

func (s shared) label(name string) map[string]string {
	if uid, ok := s.tenants[name]; ok {
		return map[string]string{tenantv1.LabelUID: uid}
	}
	return nil
}

func (s shared) Secret(ctx context.Context, _, name string) (*corev1.Secret, error) {
	secret, err := s.objects.Secret(ctx, "team-a", name)
	if err == nil {
		secret.Labels = s.label(name)
	}
	return secret, err
}

func (s shared) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	configMap, err := s.objects.ConfigMap(ctx, namespace, name)
	if err == nil {
		configMap.Labels = s.label(name)
	}
	return configMap, err
}

// twoTenants has objects of acme, of beta, and of nobody.
func twoTenants() shared {
	w := filed()
	w.secrets["beta"] = map[string]string{"password": "s3cr3t-of-beta", "x.tfrc": "credentials {}"}
	w.configMaps["beta"] = map[string]string{"size": "s3cr3t-of-beta"}
	w.secrets["acme"] = map[string]string{"password": "s3cr3t-of-acme"}
	return shared{w, map[string]string{"beta": "beta", "acme": "acme"}}
}

// ways are all that a stack's spec has for Secrets and ConfigMaps to be read by: the field, and a
// spec that uses it.
var ways = map[string]struct{ field, text string }{
	"vars[].valueFrom.secretKeyRef":    {"spec.vars[0]", `vars: [{name: p, valueFrom: {secretKeyRef: {name: beta, key: password}}}]`},
	"vars[].valueFrom.configMapKeyRef": {"spec.vars[1]", `vars: [{name: a, value: 1}, {name: p, valueFrom: {configMapKeyRef: {name: beta, key: size}}}]`},
	"varsFrom[]":                       {"spec.varsFrom[1]", `varsFrom: [{kind: Secret, name: acme}, {kind: ConfigMap, name: beta, optional: true}]`},
	"env[].valueFrom.secretKeyRef":     {"spec.env[0]", `env: [{name: P, valueFrom: {secretKeyRef: {name: beta, key: password, optional: true}}}]`},
	"env[].valueFrom.configMapKeyRef":  {"spec.env[0]", `env: [{name: P, valueFrom: {configMapKeyRef: {name: beta, key: size}}}]`},
	"envFrom[].secretRef":              {"spec.envFrom[0]", `envFrom: [{secretRef: {name: beta}}]`},
	"envFrom[].configMapRef":           {"spec.envFrom[0]", `envFrom: [{configMapRef: {name: beta, optional: true}}]`},
	"runnerPodTemplate.spec.env[].valueFrom.secretKeyRef": {"spec.runnerPodTemplate.spec.env[0]",
		`runnerPodTemplate: {spec: {env: [{name: P, valueFrom: {secretKeyRef: {name: beta, key: password}}}]}}`},
	"runnerPodTemplate.spec.env[].valueFrom.configMapKeyRef": {"spec.runnerPodTemplate.spec.env[0]",
		`runnerPodTemplate: {spec: {env: [{name: P, valueFrom: {configMapKeyRef: {name: beta, key: size}}}]}}`},
	"runnerPodTemplate.spec.envFrom[].secretRef":    {"spec.runnerPodTemplate.spec.envFrom[0]", `runnerPodTemplate: {spec: {envFrom: [{secretRef: {name: beta}}]}}`},
	"runnerPodTemplate.spec.envFrom[].configMapRef": {"spec.runnerPodTemplate.spec.envFrom[0]", `runnerPodTemplate: {spec: {envFrom: [{configMapRef: {name: beta}}]}}`},
	"fileMappings[].secretRef":                      {"spec.fileMappings[0]", `fileMappings: [{secretRef: {name: beta, key: password}, location: home, path: x}]`},
	"cliConfigSecretRef":                            {"spec.cliConfigSecretRef", `cliConfigSecretRef: {name: beta, namespace: elsewhere}`},
	"backendConfigsFrom[]":                          {"spec.backendConfigsFrom[0]", `backendConfigsFrom: [{kind: Secret, name: beta, keys: [password]}]`},
	"readInputsFromSecrets":                         {"spec.readInputsFromSecrets[0]", `{readInputsFromSecrets: [{name: beta, as: b}], values: {a: "${{ .b.password }}"}}`},
}

// notRead are those fields that name such objects and are not read here, and why they give nothing
// away.
var notRead = map[string]string{
	"backendConfig.secretSuffix":            "names a state, which the stack and the store of states refuse",
	"writeOutputsToSecret":                  "is written, and only when it is the stack's own",
	"sourceRef":                             "names a source, whose program is no secret of a tenant",
	"runnerPodTemplate.spec.volumes":        "is used where runs are Pods, and they are not",
	"runnerPodTemplate.spec.initContainers": "is used where runs are Pods, and they are not",
}

// Whoever adds a field that names Secrets or ConfigMaps must say here how another tenant's is
// refused.
func TestEveryWayToASecretIsKnown(t *testing.T) {
	left := maps.Clone(notRead)
	walkSpec(reflect.TypeFor[infrav1.TerraformSpec](), "", func(path string, f reflect.StructField) bool {
		if _, ok := notRead[path]; ok {
			delete(left, path)
			return false
		}
		if _, ok := ways[path]; ok {
			return false
		}
		name := strings.ToLower(path[strings.LastIndex(path, ".")+1:])
		if strings.Contains(name, "secret") || strings.Contains(name, "configmap") || namesAnyKind(f.Type) {
			t.Errorf("spec.%s names Secrets or ConfigMaps: how is one of another tenant refused?", path)
		}
		return true
	})
	for path := range left {
		t.Errorf("spec.%s is no field any more", path)
	}
}

// namesAnyKind tells whether a type is a reference by kind and name.
func namesAnyKind(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	_, kind := t.FieldByName("Kind")
	_, name := t.FieldByName("Name")
	return kind && name
}

// walkSpec visits all fields below a type, by their path in the object. It goes below those that
// visit says.
func walkSpec(t reflect.Type, at string, visit func(path string, f reflect.StructField) bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		path := strings.TrimPrefix(at+"."+name, ".")
		if name == "" || name == "-" {
			path = at
		} else if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct && !knownPath(path) {
			path += "[]"
		}
		if path == at || visit(path, f) {
			walkSpec(f.Type, path, visit)
		}
	}
}

// knownPath tells whether a list is known as a whole.
func knownPath(path string) bool {
	_, way := ways[path]
	_, not := notRead[path]
	return way || not
}

func TestNoFieldReadsWhatIsAnotherTenants(t *testing.T) {
	for way, test := range ways {
		t.Run(way, func(t *testing.T) {
			in, err := Resolve(t.Context(), twoTenants(), "team-a", spec(t, test.text), AllowCrossNamespace(true), InScope("acme"))
			var problems *Error
			if !errors.As(err, &problems) || problems.Part() != PartAccess {
				t.Fatalf("got %v", err)
			}
			for _, part := range []string{test.field + ": ", "/beta belongs to tenant \"beta\"", "this stack belongs to tenant \"acme\"", "kubernetes-tenants.org/uid"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("a secret is shown: %v", err)
			}
			for name, v := range flat(in) {
				if strings.Contains(v, "s3cr3t-of-beta") {
					t.Errorf("%s was read all the same", name)
				}
			}
			if !slices.ContainsFunc(in.References, func(r Reference) bool { return r.Name == "beta" && r.ResourceVersion != "" }) {
				t.Errorf("nobody waits for a change of it: %v", in.References)
			}
		})
	}
}

func TestWhatATenantMayRead(t *testing.T) {
	const text = `varsFrom: [{kind: Secret, name: acme}, {kind: ConfigMap, name: shared, varsKeys: [region]}]`
	for sentence, options := range map[string][]Option{
		"its own, and what is nobody's":              {InScope("acme")},
		"a stack that is nobody's: as it always was": nil,
	} {
		in, err := Resolve(t.Context(), twoTenants(), "team-a", spec(t, text), options...)
		if err != nil {
			t.Fatalf("%s: %v", sentence, err)
		}
		want := map[string]string{"var password": `"s3cr3t-of-acme"*`, "var region": `"eu"`}
		if diff := cmp.Diff(want, flat(in)); diff != "" {
			t.Errorf("%s: %s", sentence, diff)
		}
	}
}

func TestWhatVarsFromLendsToTheEnvironment(t *testing.T) {
	w := world()
	w.secrets["cloud"] = map[string]string{
		"AWS_ACCESS_KEY_ID": "AKIA1234", "AWS_REGION": "eu-west-1", "PGHOST": "db.internal", "PGPORT": "5432", "PGPORT__type": `"number"`,
		"region": "eu", "SHELL_OPTIONS": "x", "AWS_DECLARED": "d", "TF_CLI_ARGS": "-destroy", "AWS_BAD NAME": "x", "AWS_NULL": "a\x00b",
	}
	w.configMaps["open"] = map[string]string{"GOOGLE_PROJECT": "acme-1"}
	const text = `{vars: [{name: AWS_LITERAL, value: "x"}], varsFrom: [{kind: Secret, name: cloud}, {kind: ConfigMap, name: open}], env: [{name: AWS_REGION, value: eu-central-1}]}`
	keeps := func(name string) bool { return name == "AWS_DECLARED" || name == "AWS_REGION" }
	for sentence, test := range map[string]struct {
		prefixes []string
		want     map[string]string
	}{
		"by the usual prefixes, but for what has a meaning already": {DefaultEnvPrefixes(),
			map[string]string{"AWS_ACCESS_KEY_ID": "AKIA1234*", "PGHOST": "db.internal*", "PGPORT": "5432*", "GOOGLE_PROJECT": "acme-1"}},
		"by other prefixes":                         {[]string{"SHELL_"}, map[string]string{"SHELL_OPTIONS": "x*"}},
		"no prefix lends what no stack may set":     {[]string{"TF_"}, map[string]string{}},
		"nothing, when nothing is said of prefixes": {nil, map[string]string{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			in, err := Resolve(t.Context(), w, "team-a", spec(t, text), LendEnvironment(test.prefixes))
			if err != nil {
				t.Fatal(err)
			}
			before := in.Digest
			got := map[string]string{}
			lent := in.Lent(keeps)
			for _, e := range lent {
				got[e.Name] = e.Value.Reveal() + map[bool]string{true: "*"}[e.Secret]
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if !slices.IsSortedFunc(lent, func(a, b EnvVar) int { return strings.Compare(a.Name, b.Name) }) {
				t.Errorf("not sorted: %v", lent)
			}
			if in.digest() != before || len(in.Env) != 1 {
				t.Error("the inputs themselves have changed")
			}
		})
	}
}

func TestThePrefixesAreNamesOfProviders(t *testing.T) {
	prefixes := DefaultEnvPrefixes()
	if !slices.IsSorted(prefixes) {
		t.Errorf("they are not sorted, as the reference has them: %v", prefixes)
	}
	for _, prefix := range prefixes {
		if !isEnvName(prefix) || checkEnvName(prefix) != "" || strings.HasPrefix(prefix, "TF_") {
			t.Errorf("%s is none that a stack may set", prefix)
		}
	}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "ARM_CLIENT_SECRET", "GOOGLE_CREDENTIALS", "PGPASSWORD", "RABBITMQ_PASSWORD", "KAFKA_BOOTSTRAP_SERVERS", "REDISCLOUD_ACCESS_KEY"} {
		if !slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			t.Errorf("%s is lent by no prefix", name)
		}
	}
	prefixes[0] = "changed"
	if DefaultEnvPrefixes()[0] == "changed" {
		t.Error("whoever gets the list can change it for others")
	}
}
