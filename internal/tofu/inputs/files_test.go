// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// filed is a world with what files and backends come from.
func filed() *objects {
	w := world()
	w.secrets["files"] = map[string]string{"key": "\x00\xffbinary", "text": "line\n"}
	w.secrets["tfrc"] = map[string]string{"team.tfrc": "credentials \"x\" {}\n"}
	w.secrets["two"] = map[string]string{"a.tfrc": "", "b": ""}
	w.secrets["other"] = map[string]string{"config": ""}
	w.secrets["backend"] = map[string]string{"access_key": "AKIA", "region": "us"}
	w.configMaps["backend"] = map[string]string{"bucket": "states", "region": "eu"}
	w.configMaps["dotted"] = map[string]string{"a.b": "x", "bucket": "states"}
	return w
}

func TestResolveFilesAndSettings(t *testing.T) {
	for sentence, c := range map[string]struct {
		spec string
		want map[string]string
	}{
		"files of any bytes": {
			`fileMappings: [{secretRef: {name: files, key: key}, location: home, path: .ssh/id_rsa}, {secretRef: {name: files, key: text}, location: workspace, path: certs/ca.pem}]`,
			map[string]string{"home .ssh/id_rsa": "\x00\xffbinary", "module certs/ca.pem": "line\n"},
		},
		"paths are cleaned": {
			`fileMappings: [{secretRef: {name: files, key: text}, location: home, path: /a/../b//c}]`, map[string]string{"home b/c": "line\n"},
		},
		"a lock file, named as people name it": {
			`fileMappings: [{secretRef: {name: files, key: text}, location: workspace, path: ./.terraform.lock.hcl}]`, map[string]string{"module .terraform.lock.hcl": "line\n"},
		},
		"the tool's configuration":                  {`cliConfigSecretRef: {name: tfrc}`, map[string]string{"config": "credentials \"x\" {}\n"}},
		"the tool's configuration, with namespace":  {`cliConfigSecretRef: {name: tfrc, namespace: team-a}`, map[string]string{"config": "credentials \"x\" {}\n"}},
		"all settings, and the last object wins":    {`backendConfigsFrom: [{kind: ConfigMap, name: backend}, {kind: Secret, name: backend}]`, map[string]string{"setting access_key": "AKIA*", "setting bucket": "states", "setting region": "us*"}},
		"some settings":                             {`backendConfigsFrom: [{kind: ConfigMap, name: dotted, keys: [bucket]}]`, map[string]string{"setting bucket": "states"}},
		"settings that need not be":                 {`backendConfigsFrom: [{kind: Secret, name: gone, optional: true}, {kind: Secret, name: backend, optional: true, keys: [gone]}]`, map[string]string{}},
		"the environment of a Pod, below all other": {`{runnerPodTemplate: {spec: {envFrom: [{configMapRef: {name: env}}], env: [{name: REGION, value: pod}, {name: ONLY, value: pod}, {name: HOME, value: /home/runner}]}}, envFrom: [{secretRef: {name: env}}], env: [{name: REGION, value: stack}]}`, map[string]string{"env REGION": "stack", "env ONLY": "pod", "env AWS_KEY": "AKIA1234*"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			in, err := Resolve(t.Context(), filed(), "team-a", spec(t, c.spec))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, flat(in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsWrongWithFilesAndSettings(t *testing.T) {
	for text, want := range map[string]struct {
		part    Part
		message string
	}{
		`fileMappings: [{secretRef: {name: files, key: text}, location: home, path: a/../../x}]`:               {PartFiles, `spec.fileMappings[0]: the path "a/../../x" does not name a file below the location`},
		`fileMappings: [{secretRef: {name: files, key: text}, location: home, path: /}]`:                       {PartFiles, `spec.fileMappings[0]: the path "/" does not name a file below the location`},
		`fileMappings: [{secretRef: {name: files, key: text}, location: root, path: x}]`:                       {PartFiles, `spec.fileMappings[0]: location must be home or workspace, not "root"`},
		`fileMappings: [{secretRef: {name: files, key: gone}, location: home, path: x}]`:                       {PartFiles, `spec.fileMappings[0]: Secret team-a/files: has no key "gone"`},
		`fileMappings: [{secretRef: {name: gone, key: gone}, location: home, path: x}]`:                        {PartFiles, `spec.fileMappings[0]: Secret team-a/gone: does not exist`},
		`cliConfigSecretRef: {name: two}`:                                                                      {PartTool, "spec.cliConfigSecretRef: Secret team-a/two: must have exactly one key, whose name ends in .tfrc"},
		`cliConfigSecretRef: {name: other}`:                                                                    {PartTool, "spec.cliConfigSecretRef: Secret team-a/other: must have exactly one key, whose name ends in .tfrc"},
		`{cliConfigSecretRef: {name: gr-source, namespace: other-ns}, varsFrom: [{kind: Secret, name: gone}]}`: {PartAccess, "cannot access secret other-ns/gr-source, cross-namespace references have been disabled"},
		`backendConfigsFrom: [{kind: Secret, name: gone}]`:                                                     {PartBackend, "spec.backendConfigsFrom[0]: Secret team-a/gone: does not exist"},
		`backendConfigsFrom: [{kind: Secret, name: backend, keys: [x]}]`:                                       {PartBackend, `spec.backendConfigsFrom[0]: Secret team-a/backend: has no key "x"`},
		`backendConfigsFrom: [{kind: ConfigMap, name: dotted}]`:                                                {PartBackend, `spec.backendConfigsFrom[0]: ConfigMap team-a/dotted: key "a.b" is not a valid name of a setting; list the keys to use in spec.backendConfigsFrom[0].keys`},
	} {
		_, err := Resolve(t.Context(), filed(), "team-a", spec(t, text))
		var problems *Error
		if !errors.As(err, &problems) || problems.Part() != want.part || err.Error() != want.message {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// elsewhere is a world whose Secrets are in another namespace.
type elsewhereObjects struct{ *objects }

func (e elsewhereObjects) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	if namespace == "other-ns" {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}, Data: map[string][]byte{"a.tfrc": []byte("x")}}, nil
	}
	return e.objects.Secret(ctx, namespace, name)
}

func TestConfigurationOfAnotherNamespaceWhereThatIsAllowed(t *testing.T) {
	in, err := Resolve(t.Context(), elsewhereObjects{world()}, "team-a", spec(t, `cliConfigSecretRef: {name: shared, namespace: other-ns}`), AllowCrossNamespace(true))
	if err != nil || in.CLIConfig.Reveal() != "x" || in.References[0].String() != "Secret other-ns/shared" {
		t.Errorf("%v %v", in, err)
	}
}

func TestEnvironmentOfAPodThatCannotBeIsAWarning(t *testing.T) {
	in, err := Resolve(t.Context(), filed(), "team-a", spec(t, `runnerPodTemplate: {spec: {env: [{name: HOME, value: x}, {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"spec.runnerPodTemplate.spec.env[0]: the environment variable HOME cannot be set: Yuba sets it",
		"spec.runnerPodTemplate.spec.env[1]: POD is about a Pod, but runs do not use Pods"}
	if diff := cmp.Diff(want, in.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestDigestCoversFilesAndSettings(t *testing.T) {
	digest := func(text string, change func(*objects)) string {
		w := filed()
		change(w)
		in, err := Resolve(t.Context(), w, "team-a", spec(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return in.Digest
	}
	nothing := func(*objects) {}
	for text, change := range map[string]func(*objects){
		`fileMappings: [{secretRef: {name: files, key: text}, location: home, path: x}]`: func(o *objects) { o.secrets["files"]["text"] = "other" },
		`cliConfigSecretRef: {name: tfrc}`:                                               func(o *objects) { o.secrets["tfrc"]["team.tfrc"] = "other" },
		`backendConfigsFrom: [{kind: ConfigMap, name: backend}]`:                         func(o *objects) { o.configMaps["backend"]["bucket"] = "other" },
	} {
		if digest(text, nothing) == digest(text, change) {
			t.Errorf("%s: another content has the same digest", text)
		}
	}
}
