// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/discovery"
	"k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// kubectl runs kubectl against the API and returns what it printed.
func kubectl(t *testing.T, namespace string, args ...string) string {
	t.Helper()
	kubeconfig := apitest.API(t).Kubeconfig()
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.Namespace = &kubeconfig, &namespace
	var out, errs bytes.Buffer
	command := cmd.NewKubectlCommand(cmd.KubectlOptions{
		IOStreams:   genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errs},
		ConfigFlags: flags,
	})
	command.SetArgs(args)
	command.SetOut(&out)
	command.SetErr(&errs)
	// Without this, kubectl would end the test binary.
	cmdutil.BehaviorOnFatal(func(message string, _ int) { t.Fatalf("kubectl %s: %s", strings.Join(args, " "), message) })
	defer cmdutil.DefaultBehaviorOnFatal()
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String()
}

func full(t *testing.T, namespace string) *infrav1.Terraform {
	t.Helper()
	data, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var object infrav1.Terraform
	if err := yaml.UnmarshalStrict(data, &object); err != nil {
		t.Fatal(err)
	}
	object.Namespace = namespace
	return &object
}

func TestTheAPIKeepsEveryField(t *testing.T) {
	namespace, c := apitest.Namespace(t), apitest.Client(t)
	written := full(t, namespace)
	want := written.DeepCopy()
	if err := c.Create(t.Context(), written, client.FieldValidation("Strict")); err != nil {
		t.Fatal(err)
	}
	if written.Status.ObservedGeneration != -1 {
		t.Errorf("a new stack's observedGeneration is %d, want -1", written.Status.ObservedGeneration)
	}
	written.Status = want.Status
	if err := c.Status().Update(t.Context(), written); err != nil {
		t.Fatal(err)
	}
	var got infrav1.Terraform
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(want), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asYAML(t, want.Spec), asYAML(t, got.Spec)); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(asYAML(t, want.Status), asYAML(t, got.Status)); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}

	// Ages differ; everything else of the line does not.
	for wide, want := range map[string]string{
		"": "NAME READY STATUS AGE\nnetwork True Applied AGE\n",
		"-owide": "NAME READY STATUS AGE PLAN REVISION PLANNED MESSAGE\n" +
			"network True Applied AGE +2 ~1 -0 main@sha1:1a2b3c4d5e main@sha1:1a2b3c4d5e Outputs written: main@sha1:1a2b3c4d5e\n",
	} {
		printed := regexp.MustCompile(` +`).ReplaceAllString(kubectl(t, namespace, append([]string{"get", "tf"}, strings.Fields(wide)...)...), " ")
		shape := regexp.MustCompile(`\d+m?s`).ReplaceAllString(printed, "AGE")
		if diff := cmp.Diff(want, shape); diff != "" {
			t.Errorf("kubectl get tf %s (-want +got):\n%s", wide, diff)
		}
	}
}

// awaitSchema waits until the API has published the schema of a resource, which it does some time after it serves it.
func awaitSchema(t *testing.T, group, resource string) {
	t.Helper()
	api, err := discovery.NewDiscoveryClientForConfig(apitest.API(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	published := func() bool {
		paths, err := api.OpenAPIV3().Paths()
		if err != nil || paths[group] == nil {
			return false
		}
		document, err := paths[group].Schema("application/json")
		return err == nil && bytes.Contains(document, []byte("/"+resource+"/{name}"))
	}
	for deadline := time.Now().Add(time.Minute); !published(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the schema of %s in %s is not published", resource, group)
		}
	}
}

func TestKubectlExplains(t *testing.T) {
	awaitSchema(t, "apis/"+infrav1.GroupVersion.String(), "terraforms")
	awaitSchema(t, "apis/source.toolkit.fluxcd.io/v1", "externalartifacts")
	for path, want := range map[string]string{
		"tf":                       "Terraform is a stack",
		"tf.spec":                  "interval\t<string> -required-",
		"tf.spec.approvePlan":      "approves exactly that plan",
		"tf.spec.tfstate":          "Whether to break a lock",
		"tf.spec.tool.version":     `">= 1.9, < 2"`,
		"tf.status.plan.summary":   `"+2 ~1 -0"`,
		"tf.spec.env.valueFrom":    "secretKeyRef",
		"externalartifacts.status": "ExternalArtifact",
	} {
		t.Run(path, func(t *testing.T) {
			explained := strings.Join(strings.Fields(kubectl(t, "default", "explain", path)), " ")
			if !strings.Contains(explained, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("kubectl explain %s says\n%s\nwithout %q", path, explained, want)
			}
		})
	}
}

func asYAML(t *testing.T, v any) string {
	t.Helper()
	data, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
