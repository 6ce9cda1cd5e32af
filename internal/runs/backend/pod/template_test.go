// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

var options = Options{Image: "yuba-runner:1", Server: "https://yuba.yuba-system.svc:7445", CA: "pem", Instance: "yuba", Build: "b1", Secret: []byte("secret"),
	PullSecrets: []string{"pull"}, Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": resource.MustParse("1Gi")}}}

func podOf(t *testing.T, place *run.Place) *corev1.Pod {
	t.Helper()
	p, err := options.pod(place)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAPodOfAPlainPlace(t *testing.T) {
	place := &run.Place{Namespace: "team", ServiceAccount: "tf-runner", Grace: run.Duration(30 * time.Second)}
	p := podOf(t, place)
	c := p.Spec.Containers[0]
	if p.Namespace != "team" || p.Spec.ServiceAccountName != "tf-runner" || p.Labels[LabelPlace] != place.Key() || c.Image != "yuba-runner:1" {
		t.Errorf("%+v", p)
	}
	if *p.Spec.TerminationGracePeriodSeconds != 45 || p.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("ends after %d s, restarts %s", *p.Spec.TerminationGracePeriodSeconds, p.Spec.RestartPolicy)
	}
	if !c.Resources.Limits.Memory().Equal(resource.MustParse("1Gi")) || p.Spec.ImagePullSecrets[0].Name != "pull" {
		t.Errorf("%+v", p.Spec)
	}
	if slices.Contains(c.Args, "--once") {
		t.Errorf("a shared Pod ends after one run: %v", c.Args)
	}
	for _, e := range c.Env {
		if strings.Contains(strings.ToLower(e.Name), "token") || e.Value == "" {
			t.Errorf("the environment has %+v", e)
		}
	}
	if other := podOf(t, place); other.Name == p.Name {
		t.Errorf("two Pods are named %s", p.Name)
	}
	if got := found(p, time.Now()); got.Place != place.Key() || !options.signed(p) {
		t.Errorf("the next server takes it for place %s, want %s", got.Place, place.Key())
	}
}

func TestATemplateOverridesParts(t *testing.T) {
	template := infrav1.RunnerPodTemplate{
		Metadata: infrav1.RunnerPodMetadata{Labels: map[string]string{"cost": "a", LabelPlace: "forged"}, Annotations: map[string]string{"note": "b"}},
		Spec: infrav1.RunnerPodSpec{Image: "mine:2", NodeSelector: map[string]string{"disk": "ssd"}, PriorityClassName: "high",
			Tolerations: []corev1.Toleration{{Key: "spot"}}, Volumes: []corev1.Volume{{Name: "certs"}},
			VolumeMounts:    []corev1.VolumeMount{{Name: "certs", MountPath: "/certs"}},
			InitContainers:  []corev1.Container{{Name: "first", Image: "i"}},
			HostAliases:     []corev1.HostAlias{{IP: "10.0.0.1"}},
			SecurityContext: &corev1.SecurityContext{RunAsUser: ptr.To[int64](1000)},
			Resources:       &corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": resource.MustParse("2Gi")}}},
	}
	text, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	place := &run.Place{Namespace: "team", ServiceAccount: "deployer", Template: text, Alone: "r1"}
	p := podOf(t, place)
	c := p.Spec.Containers[0]
	if p.Labels["cost"] != "a" || p.Labels[LabelPlace] != place.Key() || p.Annotations["note"] != "b" {
		t.Errorf("labels %v, annotations %v", p.Labels, p.Annotations)
	}
	if c.Image != "mine:2" || p.Spec.NodeSelector["disk"] != "ssd" || p.Spec.PriorityClassName != "high" || p.Spec.Tolerations[0].Key != "spot" ||
		p.Spec.InitContainers[0].Name != "first" || p.Spec.HostAliases[0].IP != "10.0.0.1" || *c.SecurityContext.RunAsUser != 1000 ||
		!c.Resources.Limits.Memory().Equal(resource.MustParse("2Gi")) {
		t.Errorf("%+v", p.Spec)
	}
	if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/certs" }) ||
		!slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "certs" }) {
		t.Errorf("mounts %+v, volumes %+v", c.VolumeMounts, p.Spec.Volumes)
	}
	if args := strings.Join(c.Args, " "); !strings.Contains(args, "--once") || !strings.Contains(args, "--show /certs") {
		t.Errorf("arguments %s", args)
	}
}

func TestADamagedTemplateIsNamed(t *testing.T) {
	if _, err := options.pod(&run.Place{Template: json.RawMessage(`{"spec":1}`)}); err == nil || !strings.Contains(err.Error(), "spec.runnerPodTemplate") {
		t.Errorf("%v", err)
	}
}

// Nobody gets runs of a place by labels and annotations that name it.
func TestAForgedPodIsNotBelieved(t *testing.T) {
	for sentence, forge := range map[string]func(*corev1.Pod){
		"another namespace": func(p *corev1.Pod) { p.Namespace = "team" },
		"another name":      func(p *corev1.Pod) { p.Name = "mine" },
		"another account":   func(p *corev1.Pod) { p.Spec.ServiceAccountName = "admin" },
		"another place":     func(p *corev1.Pod) { p.Annotations[annotationPlace] = `{"namespace":"other","serviceAccount":"admin"}` },
		"no signature":      func(p *corev1.Pod) { delete(p.Annotations, annotationSignature) },
	} {
		p := podOf(t, &run.Place{Namespace: "other", ServiceAccount: "tf-runner"})
		if forge(p); options.signed(p) {
			t.Errorf("%s: the Pod is believed", sentence)
		}
	}
}

func TestPlacesDiffer(t *testing.T) {
	base := run.Place{Namespace: "a", ServiceAccount: "b"}
	keys := map[string]string{base.Key(): "base"}
	for name, change := range map[string]func(*run.Place){
		"namespace": func(p *run.Place) { p.Namespace = "b" },
		"account":   func(p *run.Place) { p.ServiceAccount = "c" },
		"template":  func(p *run.Place) { p.Template = json.RawMessage(`{}`) },
		"grace":     func(p *run.Place) { p.Grace = 1 },
		"run":       func(p *run.Place) { p.Alone = "r1" },
	} {
		other := base
		change(&other)
		if same := keys[other.Key()]; same != "" {
			t.Errorf("another %s has the key of %s", name, same)
		}
		keys[other.Key()] = name
	}
	if key := (*run.Place)(nil).Key(); key != "" {
		t.Errorf("no place has the key %q", key)
	}
}
