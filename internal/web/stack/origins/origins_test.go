// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package origins

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func inline(value string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(value)} }

func secretKey(name, key string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}}
}

func written(inputs []Input) string {
	var b strings.Builder
	for _, in := range inputs {
		value := in.Value
		if in.Secret {
			value = "***"
		}
		line := fmt.Sprintf("%s %s=%s from %s", in.Group, in.Name, value, in.From)
		for name, more := range map[string]string{" of ": in.Stack} {
			if more != "" {
				line += name + more
			}
		}
		if in.Says != "" {
			line += "; " + in.Says
		}
		if in.Lost != "" {
			line += "; lost to " + in.Lost
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func TestOf(t *testing.T) {
	for sentence, c := range map[string]struct {
		spec  infrav1.TerraformSpec
		facts Facts
		want  string
	}{
		"variables override each other": {infrav1.TerraformSpec{
			Vars:     []infrav1.Variable{{Name: "size", Value: inline(`"1"`)}, {Name: "list", Value: inline(`[1,2]`)}, {Name: "key", ValueFrom: secretKey("keys", "k")}},
			VarsFrom: []infrav1.VarsReference{{Kind: "ConfigMap", Name: "settings"}, {Kind: "Secret", Name: "vpc-outputs", VarsKeys: []string{"id:vpc_id"}}, {Kind: "Secret", Name: "rest"}},
		}, Facts{ConfigMaps: map[string]*corev1.ConfigMap{"settings": {Data: map[string]string{"size": "2"}}}, Writers: map[string]string{"vpc-outputs": "team/network"}},
			`Variables size=1 from spec.vars; lost to ConfigMap settings, key size
Variables list=[1,2] from spec.vars
Variables key=*** from Secret keys, key k
Variables size=2 from ConfigMap settings, key size
Variables vpc_id=*** from output of team/network through Secret vpc-outputs, key id of team/network
Variables =*** from Secret rest; all its keys
`},
		"a contract is set last": {infrav1.TerraformSpec{
			Vars:     []infrav1.Variable{{Name: "net", Value: inline(`{}`)}},
			Consumes: []infrav1.Consumption{{Contract: "base", Version: "~> 1.2", From: infrav1.ProducerReference{Name: "network"}, As: "net", Reads: []string{"vpc_id"}}},
		}, Facts{}, `Variables net={} from spec.vars; lost to contract base ~> 1.2
Variables net= from contract base ~> 1.2 of team/network; reads vpc_id
`},
		"what is missing says so": {infrav1.TerraformSpec{
			VarsFrom: []infrav1.VarsReference{{Kind: "ConfigMap", Name: "gone", VarsKeys: []string{"a"}}, {Kind: "ConfigMap", Name: "hidden"}, {Kind: "ConfigMap", Name: "there", VarsKeys: []string{"b"}}},
		}, Facts{ConfigMaps: map[string]*corev1.ConfigMap{"gone": nil, "there": {}}, Unread: map[string]string{"hidden": "you may not read this ConfigMap"}},
			`Variables a= from ConfigMap gone, key a; this ConfigMap does not exist
Variables = from ConfigMap hidden; you may not read this ConfigMap
Variables b= from ConfigMap there, key b; this key is missing
`},
		"environment, files and backend": {infrav1.TerraformSpec{
			Env:                []corev1.EnvVar{{Name: "REGION", Value: "eu"}, {Name: "TOKEN", ValueFrom: secretKey("cloud", "token")}},
			EnvFrom:            []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "all"}}, Prefix: "TF_"}},
			BackendConfig:      &infrav1.BackendConfigSpec{CustomConfiguration: `backend "s3" {}`},
			BackendConfigsFrom: []infrav1.BackendConfigsReference{{Kind: "Secret", Name: "s3"}},
		}, Facts{}, `Environment =*** from Secret all; all its keys, with the prefix TF_
Environment REGION=eu from spec.env
Environment TOKEN=*** from Secret cloud, key token
Backend = from spec.backendConfig; the stack keeps its state in a backend of its own
Backend =*** from Secret s3; all its keys
`},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.facts.Stack = &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "vpc"}, Spec: c.spec}
			if diff := cmp.Diff(c.want, written(Of(c.facts))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALongValueIsCut(t *testing.T) {
	stack := &infrav1.Terraform{Spec: infrav1.TerraformSpec{Vars: []infrav1.Variable{{Name: "a", Value: inline(`"` + strings.Repeat("x", 5<<20) + `"`)}}}}
	if in := Of(Facts{Stack: stack}); len(in) != 1 || len(in[0].Value) > maxValue+8 {
		t.Error(len(in))
	}
}
