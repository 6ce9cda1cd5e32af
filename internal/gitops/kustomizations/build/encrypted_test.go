// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"encoding/base64"
	"maps"
	"strings"
	"testing"

	"filippo.io/age"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/getsops/sops/v3"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/yuba-dev/yuba/internal/testkit/sopstest"
)

// encryptedTree has everything that can be encrypted: an object, a patch, and what generators read.
func encryptedTree(t *testing.T, identity *age.X25519Identity) map[string]string {
	t.Helper()
	encrypt := func(format, plain string) string {
		o := sopstest.Options{Format: format, Groups: []sops.KeyGroup{sopstest.For(t, identity)}}
		if format == "yaml" {
			o.Regex = "^(data|stringData)$"
		}
		return string(sopstest.Encrypt(t, plain, o))
	}
	return map[string]string{
		"kustomization.yaml": "namespace: prod\nnamePrefix: a-\nresources: [secret.yaml, c.yaml]\npatches: [{path: patch.yaml}]\ngeneratorOptions: {disableNameSuffixHash: true}\n" +
			"secretGenerator:\n- {name: files, files: [key.bin, config.yaml=whole.yaml]}\n- {name: envs, envs: [vars.env]}\nconfigMapGenerator:\n- {name: sealed, files: [sealed.env]}\n",
		"secret.yaml": encrypt("yaml", "apiVersion: v1\nkind: Secret\nmetadata:\n    name: secret\nstringData:\n    password: hunter2 ${colour}\n"),
		"c.yaml":      configMap,
		"patch.yaml":  encrypt("yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n    name: settings\n    namespace: apps\ndata:\n    patched: hunter3\n"),
		"key.bin":     encrypt("binary", "hunter4"),
		"whole.yaml":  encrypt("yaml", "data: hunter5\n"),
		"vars.env":    encrypt("dotenv", "PASSWORD=hunter6\n"),
		"sealed.env":  encrypt("dotenv", "PASSWORD=hunter7\n"),
	}
}

func encryptedSpec(s *kustomizev1.KustomizationSpec) {
	s.Decryption = &kustomizev1.Decryption{Provider: "sops", SecretRef: &meta.LocalObjectReference{Name: "sops-age"}}
	s.PostBuild = &kustomizev1.PostBuild{Substitute: map[string]string{"colour": "blue"}}
}

func keySecret(identity *age.X25519Identity) Reader {
	return FromAPI(fake.NewClientBuilder().WithObjects(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "sops-age"},
		Data: map[string][]byte{"a.agekey": []byte(identity.String())}}).Build())
}

func TestWhatIsEncryptedIsOpened(t *testing.T) {
	identity := sopstest.Identity(t)
	tree := encryptedTree(t, identity)
	in := Input{Object: spec(encryptedSpec), Dir: files(t, tree), Values: keySecret(identity), Strict: true, Programs: programs(t)}
	built, err := Build(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]string{}
	for _, u := range built.Objects {
		values := map[string]string{}
		for _, field := range []string{"data", "stringData"} {
			entries, _ := u.Object[field].(map[string]any)
			for name, value := range entries {
				text, _ := value.(string)
				if plain, err := base64.StdEncoding.DecodeString(text); err == nil && u.GetKind() == "Secret" && field == "data" {
					text = string(plain)
				}
				values[name] = text
			}
		}
		if u.Object["sops"] != nil || u.GetNamespace() != "prod" {
			t.Errorf("%s %s: %v", u.GetKind(), u.GetName(), u.Object)
		}
		got[u.GetName()] = values
	}
	want := map[string]map[string]string{
		"a-secret":   {"password": "hunter2 blue"},
		"a-settings": {"colour": "blue", "patched": "hunter3"},
		"a-files":    {"key.bin": "hunter4", "config.yaml": "data: hunter5\n"},
		"a-envs":     {"PASSWORD": "hunter6"},
		// Flux opens no file for a ConfigMap, which everybody may read.
		"a-sealed": {"sealed.env": tree["sealed.env"]},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	t.Run("or is kept", func(t *testing.T) {
		in := in
		in.KeepEncrypted = true
		in.Object = spec(func(s *kustomizev1.KustomizationSpec) { encryptedSpec(s); s.Path = "x" })
		in.Dir = files(t, map[string]string{"x/secret.yaml": tree["secret.yaml"]})
		built, err := Build(t.Context(), in)
		if err != nil || len(built.Objects) != 1 || built.Objects[0].Object["sops"] == nil {
			t.Errorf("%v, %v", built, err)
		}
	})
}

func TestWhatCannotBeOpenedIsNamed(t *testing.T) {
	identity, other := sopstest.Identity(t), sopstest.Identity(t)
	tree := encryptedTree(t, identity)
	changed := func(name, text string) map[string]string {
		c := maps.Clone(tree)
		c[name] = text
		return c
	}
	plain := map[string]string{"secret.yaml": tree["secret.yaml"]}
	cases := map[string]struct {
		files  map[string]string
		values Reader
		want   string
	}{
		"with another key":           {tree, keySecret(other), ".yaml: it is encrypted for the age recipients " + identity.Recipient().String() + ", but Secret team/sops-age has the keys of " + other.Recipient().String()},
		"without kustomize, either":  {plain, keySecret(other), "decrypt secret.yaml: it is encrypted for the age recipients " + identity.Recipient().String()},
		"an object that was changed": {changed("secret.yaml", strings.Replace(tree["secret.yaml"], "name: secret", "name: other", 1)), keySecret(identity), "decrypt secret.yaml: its message authentication code does not match its content"},
		"a generator's that was changed": {changed("whole.yaml", strings.Replace(tree["whole.yaml"], "sops:", "more: x\nsops:", 1)), keySecret(identity),
			"decrypt whole.yaml: its message authentication code does not match its content"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Build(t.Context(), Input{Object: spec(encryptedSpec), Dir: files(t, c.files), Values: c.values, Strict: true, Programs: programs(t)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error: %v\nwant in it: %s", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter") {
				t.Errorf("error shows a value: %v", err)
			}
		})
	}
}

func TestAFingerprintIsThatOfEverythingThatGoesIn(t *testing.T) {
	identity := sopstest.Identity(t)
	of := func(artifact string, values Reader, change func(*kustomizev1.KustomizationSpec)) string {
		t.Helper()
		sum, err := Fingerprint(t.Context(), Input{Object: spec(func(s *kustomizev1.KustomizationSpec) { encryptedSpec(s); change(s) }), Values: values, Strict: true}, artifact)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	nothing := func(*kustomizev1.KustomizationSpec) {}
	first := of("sha256:a", keySecret(identity), nothing)
	if first != of("sha256:a", keySecret(identity), func(s *kustomizev1.KustomizationSpec) { s.Suspend, s.Prune = true, true }) {
		t.Error("an unrelated input changes the digest")
	}
	seen := map[string]bool{first: true}
	for name, sum := range map[string]string{
		"artifact":  of("sha256:b", keySecret(identity), nothing),
		"key":       of("sha256:a", keySecret(sopstest.Identity(t)), nothing),
		"variable":  of("sha256:a", keySecret(identity), func(s *kustomizev1.KustomizationSpec) { s.PostBuild.Substitute["colour"] = "red" }),
		"namespace": of("sha256:a", keySecret(identity), func(s *kustomizev1.KustomizationSpec) { s.TargetNamespace = "x" }),
		"path":      of("sha256:a", keySecret(identity), func(s *kustomizev1.KustomizationSpec) { s.Path = "x" }),
	} {
		if seen[sum] {
			t.Errorf("%s does not change it", name)
		}
		seen[sum] = true
	}
}
