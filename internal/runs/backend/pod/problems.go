// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/runs/backend"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// slowStart is when a Pod that gives no reason has been starting for long.
const slowStart = 20 * time.Second

// refusal explains why the API did not create a Pod, and what to do.
func refusal(place *run.Place, err error) string {
	text := err.Error()
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(text, "exceeded quota"):
		return fmt.Sprintf("the quota of namespace %s leaves no room for another Pod (%s). Yuba tries again", place.Namespace, reasonOf(text))
	case apierrors.IsForbidden(err) && strings.Contains(text, "error looking up service account"):
		return fmt.Sprintf("namespace %s has no service account %s. Create it, or set spec.serviceAccountName to one that exists", place.Namespace, place.ServiceAccount)
	case apierrors.IsForbidden(err) && strings.Contains(text, "violates PodSecurity"):
		return fmt.Sprintf("the Pod Security Standard of namespace %s refuses spec.runnerPodTemplate (%s)", place.Namespace, reasonOf(text))
	case apierrors.IsForbidden(err) && strings.Contains(text, "cannot create resource"):
		return fmt.Sprintf("Yuba may not create Pods in namespace %s. Add the namespace to the chart's runner.serviceAccount.allowedNamespaces", place.Namespace)
	case apierrors.IsInvalid(err):
		return fmt.Sprintf("the API refuses spec.runnerPodTemplate: %s", reasonOf(text))
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("the Pod refers to an object that does not exist: %s", text)
	}
	return fmt.Sprintf("the API does not create it: %s", text)
}

// reasonOf cuts the name of the Pod off an error of the API.
func reasonOf(text string) string {
	for _, before := range []string{"is forbidden: ", "is invalid: "} {
		if _, after, found := strings.Cut(text, before); found {
			return after
		}
	}
	return text
}

// imageReasons are the reasons for waiting that mean that the image is not available.
var imageReasons = map[string]bool{"ErrImagePull": true, "ImagePullBackOff": true, "InvalidImageName": true, "ErrImageNeverPull": true,
	"RegistryUnavailable": true, "ImageInspectError": true}

// obstacle explains what keeps a Pod from starting; empty if nothing does.
func obstacle(p *corev1.Pod, now time.Time) string {
	for _, s := range append(append([]corev1.ContainerStatus{}, p.Status.InitContainerStatuses...), p.Status.ContainerStatuses...) {
		if w := s.State.Waiting; w != nil {
			switch {
			case imageReasons[w.Reason]:
				return fmt.Sprintf("Pod %s cannot pull the image %s: %s", p.Name, s.Image, cmp.Or(w.Message, w.Reason))
			case w.Reason != "" && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating":
				return fmt.Sprintf("container %s of Pod %s does not start: %s: %s", s.Name, p.Name, w.Reason, w.Message)
			}
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("no node takes Pod %s: %s", p.Name, cmp.Or(c.Message, c.Reason))
		}
	}
	if now.Sub(p.CreationTimestamp.Time) > slowStart && p.Status.Phase == corev1.PodPending {
		return fmt.Sprintf("Pod %s does not start. Its events say why: kubectl describe pod -n %s %s", p.Name, p.Namespace, p.Name)
	}
	return ""
}

// silence is how long a runner may not poll. A poll is held for run.PollWait, and the next one
// follows at once.
const silence = 30 * time.Second

// miss notes whether a Pod's runner polls, and reports whether Misses says something else now. A
// silent Pod without a run makes room for another one; one with a run may still work on it.
// b.mu is held.
func (b *Backend) miss(k *known, p *corev1.Pod, use backend.Home, now time.Time) (changed bool) {
	last := k.since
	if use.Heard.After(last) {
		last = use.Heard
	}
	missed := ""
	switch silent := k.heard && now.Sub(last) > silence; {
	case silent && use.Runs > 0:
		missed = silentWith(p, last)
	case silent && !k.leaving:
		k.leaving = true
		o := b.obstaclesOf(k.Place)
		o.back(now)
		o.why = fmt.Sprintf("Pod %s on node %s stopped reporting, and another one takes its place", p.Name, p.Spec.NodeName)
	}
	changed = missed != k.missed
	k.missed = missed
	return changed
}

// silentWith explains what to do about a silent Pod with a run.
func silentWith(p *corev1.Pod, last time.Time) string {
	return fmt.Sprintf("Pod %s on node %s was last heard at %s. Its run may still be at work and keeps its lock. If the node is gone for good, delete the Node, or: kubectl delete pod -n %s %s --force",
		p.Name, p.Spec.NodeName, last.UTC().Format(time.RFC3339), p.Namespace, p.Name)
}

// obstacleOf explains what keeps a Pod from taking runs; empty if nothing does.
func (b *Backend) obstacleOf(k *known, p *corev1.Pod, now time.Time) string {
	if k.heard {
		return ""
	}
	if now.Sub(k.since) > slowStart && p.Status.Phase == corev1.PodRunning {
		return fmt.Sprintf("Pod %s runs, but its runner has not reached %s yet. Its log says why: kubectl logs -n %s %s", p.Name, b.Server, p.Namespace, p.Name)
	}
	return obstacle(p, now)
}

// cause explains the end of a Pod's runner, as the predicate of "the runner"; empty if unknown.
func cause(p *corev1.Pod) string {
	for _, s := range p.Status.ContainerStatuses {
		t := s.State.Terminated
		if t == nil || s.Name != Container || t.ExitCode == 0 {
			continue
		}
		if t.Reason == "OOMKilled" {
			limit := "of its node"
			if l := containerOf(p).Resources.Limits.Memory(); !l.IsZero() {
				limit = "of " + l.String()
			}
			return fmt.Sprintf("was killed in Pod %s, because the run exceeded the memory limit %s. Raise spec.runnerPodTemplate.spec.resources.limits.memory", p.Name, limit)
		}
		text := fmt.Sprintf("ended in Pod %s with exit code %d (%s)", p.Name, t.ExitCode, t.Reason)
		if lines := strings.Split(strings.TrimSpace(t.Message), "\n"); lines[len(lines)-1] != "" {
			text += ": " + lines[len(lines)-1]
		}
		return text
	}
	if p.Status.Reason != "" {
		return fmt.Sprintf("ended with Pod %s: %s: %s", p.Name, p.Status.Reason, p.Status.Message)
	}
	return ""
}

func containerOf(p *corev1.Pod) *corev1.Container {
	for i := range p.Spec.Containers {
		if p.Spec.Containers[i].Name == Container {
			return &p.Spec.Containers[i]
		}
	}
	return &corev1.Container{}
}
