// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Labels of runner Pods. The label of tofu-controller's runners is among them, because network
// policies select it.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "yuba.dev/instance"
	LabelPlace     = "yuba.dev/place"
	labelTofu      = "infra.contrib.fluxcd.io/terraform"

	ManagedBy = "yuba"
	Name      = "yuba-runner"
)

// annotationPlace has the Place as JSON, for a server that starts anew.
const annotationPlace = "yuba.dev/place"

// annotationSignature proves that this installation created the Pod: labels and annotations are
// everybody's who may create Pods in a namespace.
const annotationSignature = "yuba.dev/signature"

// Container is the name of the container that executes runs.
const Container = "runner"

// Audience is that of the token by which a runner identifies its Pod.
const Audience = "yuba-runner"

// Paths in a runner's container.
const (
	homeDir  = "/yuba"
	tokenDir = "/var/run/secrets/yuba.dev"
	bin      = "/usr/local/bin/"
)

// runnerUser is the user of runners in Yuba's images.
const runnerUser = 65532

// tokenSeconds is how long a runner's token lasts. The kubelet renews it.
const tokenSeconds = 3600

// shipping is what a Pod gets beyond the grace of its stacks, to deliver states and results.
const shipping = 15 * time.Second

// Options configure runner Pods.
type Options struct {
	// Image of the runner, unless the place's template names another.
	Image string
	// PullPolicy of the image; empty for the API's default.
	PullPolicy corev1.PullPolicy
	// PullSecrets are names of Secrets in the Pods' namespaces.
	PullSecrets []string
	// Resources of containers whose template names none.
	Resources corev1.ResourceRequirements
	// Server is the URL of the run endpoints, and CA the certificates in PEM that it is verified by.
	Server string
	CA     string
	// Secret signs Pods. All replicas of an installation have the same.
	Secret []byte
	// Instance labels the Pods of this installation.
	Instance string
	// Build is the mark that the Pods' runners report. Those with another one leave.
	Build string
	// Args are more arguments for the runner.
	Args []string
}

// pod makes a Pod for a place.
func (o *Options) pod(place *run.Place) (*corev1.Pod, error) {
	var t infrav1.RunnerPodTemplate
	if len(place.Template) > 0 {
		if err := json.Unmarshal(place.Template, &t); err != nil {
			return nil, fmt.Errorf("read spec.runnerPodTemplate: %w", err)
		}
	}
	recorded, err := json.Marshal(place)
	if err != nil {
		return nil, fmt.Errorf("describe a runner Pod: %w", err)
	}
	labels := maps.Clone(t.Metadata.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, map[string]string{LabelManagedBy: ManagedBy, LabelName: Name, LabelInstance: o.Instance,
		LabelPlace: place.Key(), labelTofu: place.Namespace})
	annotations := maps.Clone(t.Metadata.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotationPlace] = string(recorded)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: place.Namespace, Name: Name + "-" + rand.String(10), Labels: labels, Annotations: annotations},
		Spec: corev1.PodSpec{
			ServiceAccountName:            place.ServiceAccount,
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: ptr.To(int64((time.Duration(place.Grace) + shipping).Seconds())),
			EnableServiceLinks:            ptr.To(false),
			NodeSelector:                  t.Spec.NodeSelector,
			Affinity:                      t.Spec.Affinity,
			Tolerations:                   t.Spec.Tolerations,
			InitContainers:                t.Spec.InitContainers,
			HostAliases:                   t.Spec.HostAliases,
			PriorityClassName:             t.Spec.PriorityClassName,
			SecurityContext:               podSecurity(),
			Volumes:                       append(volumes(place), t.Spec.Volumes...),
			Containers:                    []corev1.Container{o.container(&t.Spec, place)},
		},
	}
	p.Annotations[annotationSignature] = o.signature(p)
	for _, name := range o.PullSecrets {
		p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return p, nil
}

// signature is that of a Pod's name, service account and place.
func (o *Options) signature(p *corev1.Pod) string {
	mac := hmac.New(sha256.New, o.Secret)
	fmt.Fprintf(mac, "%q %q %q %q", p.Namespace, p.Name, p.Spec.ServiceAccountName, p.Annotations[annotationPlace])
	return hex.EncodeToString(mac.Sum(nil))
}

// signed reports whether this installation created the Pod.
func (o *Options) signed(p *corev1.Pod) bool {
	return hmac.Equal([]byte(p.Annotations[annotationSignature]), []byte(o.signature(p)))
}

func (o *Options) container(t *infrav1.RunnerPodSpec, place *run.Place) corev1.Container {
	c := corev1.Container{
		Name: Container, Image: o.Image, ImagePullPolicy: o.PullPolicy, Resources: o.Resources, SecurityContext: security(),
		// An image may name a directory that the volume of homes hides.
		WorkingDir: homeDir,
		Command:    []string{bin + "yuba-runner"},
		Args: append([]string{"--dir", homeDir + "/runner", "--work", homeDir + "/work", "--provider-store", homeDir + "/providers",
			"--tools", homeDir + "/tools", "--tofu", bin + "tofu", "--sandbox", bin + "yuba-sandbox", "--server", o.Server,
			"--token-file", tokenDir + "/token", "--pod", "--build", o.Build}, o.Args...),
		Env: []corev1.EnvVar{{Name: "YUBA_SERVER_CA", Value: o.CA}, {Name: "HOME", Value: homeDir}, {Name: "GOMEMLIMIT", Value: "256MiB"}},
		VolumeMounts: append([]corev1.VolumeMount{
			{Name: "yuba", MountPath: homeDir}, {Name: "yuba-tmp", MountPath: "/tmp"}, {Name: "yuba-home", MountPath: path.Dir(confinement.HomePath)}, {Name: "yuba-token", MountPath: tokenDir, ReadOnly: true},
		}, t.VolumeMounts...),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if place.Alone != "" {
		c.Args = append(c.Args, "--once")
	}
	if len(place.Audiences) > 0 {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "yuba-identity", MountPath: run.IdentityMount, ReadOnly: true})
		c.Args = append(c.Args, "--show", run.IdentityMount)
	}
	for _, m := range t.VolumeMounts {
		c.Args = append(c.Args, "--show", m.MountPath)
	}
	if t.Image != "" {
		c.Image = t.Image
	}
	if t.SecurityContext != nil {
		c.SecurityContext = t.SecurityContext
	}
	if t.Resources != nil {
		c.Resources = *t.Resources
	}
	return c
}

func podSecurity() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](runnerUser), RunAsGroup: ptr.To[int64](runnerUser),
		FSGroup: ptr.To[int64](runnerUser), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
}

// security fits the restricted Pod Security Standard.
func security() *corev1.SecurityContext {
	return &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
}

func volumes(place *run.Place) []corev1.Volume {
	empty := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	list := []corev1.Volume{
		{Name: "yuba", VolumeSource: empty},
		{Name: "yuba-tmp", VolumeSource: empty},
		{Name: "yuba-home", VolumeSource: empty},
		{Name: "yuba-token", VolumeSource: tokens(token(Audience, "token"))},
	}
	if len(place.Audiences) == 0 {
		return list
	}
	var all []corev1.VolumeProjection
	for _, audience := range place.Audiences {
		all = append(all, token(audience, run.Identity{Audience: audience}.Name()+"/token"))
	}
	return append(list, corev1.Volume{Name: "yuba-identity", VolumeSource: tokens(all...)})
}

func tokens(sources ...corev1.VolumeProjection) corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}
}

// token is a token of the Pod's service account, which the kubelet renews.
func token(audience, file string) corev1.VolumeProjection {
	return corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
		Audience: audience, ExpirationSeconds: ptr.To[int64](tokenSeconds), Path: file}}
}
