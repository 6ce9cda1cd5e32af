// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"strings"
)

// Support says whether a field of the spec has an effect.
type Support string

// Values of Support.
const (
	// SupportWorks: the field works as documented.
	SupportWorks Support = "works"
	// SupportPods: the field configures the Pods of runs. Runs that are processes ignore it with a
	// warning.
	SupportPods Support = "only for Pods"
	// SupportKept: the field has no effect and no warning; existing manifests may contain it.
	SupportKept Support = "kept, without effect"
	// SupportIgnored: not supported yet, but harmless; the stack runs with a warning.
	SupportIgnored Support = "not yet: ignored with a warning"
	// SupportRefused: not supported yet, and ignoring it could do harm; the stack does not run.
	SupportRefused Support = "not yet: the stack does not run"
)

// FieldSupport is the support of one field of the spec and of all below it.
//
// +kubebuilder:object:generate=false
type FieldSupport struct {
	// Field is the field's path, such as spec.runnerPodTemplate.spec.image.
	Field string
	// Support is its support.
	Support Support
	// When restricts the entry to some values, in words that follow the field's name; may be empty.
	When string
	// Note names the alternative, for the reference.
	Note string

	// uses reports whether a spec sets the field; nil if that is not needed.
	uses func(*TerraformSpec) bool
}

// Name is the field's path with the restriction.
func (f FieldSupport) Name() string {
	if f.When == "" {
		return f.Field
	}
	return f.Field + " " + f.When
}

// limits are the fields that do not simply work, each with all below it that has no own entry. The
// controllers, the warnings in the status, "yuba adopt" and the reference use this table.
var limits = []FieldSupport{
	{Field: "spec.branchPlanner", Support: SupportIgnored, Note: "Yuba has no branch planner yet.",
		uses: func(s *TerraformSpec) bool { return s.BranchPlanner != nil }},

	{Field: "spec.backendConfig.inClusterConfig", Support: SupportKept},
	{Field: "spec.enterprise", Support: SupportKept},

	{Field: "spec.serviceAccountName", Support: SupportPods,
		uses: func(s *TerraformSpec) bool {
			return s.ServiceAccountName != "" && s.ServiceAccountName != DefaultServiceAccount && len(s.IdentityTokens) == 0
		}},
	{Field: "spec.alwaysCleanupRunnerPod", Support: SupportPods,
		uses: func(s *TerraformSpec) bool { return !boolOr(s.AlwaysCleanupRunnerPod, true) }},
	{Field: "spec.dedicatedRunnerPod", Support: SupportPods, uses: func(s *TerraformSpec) bool { return s.DedicatedRunnerPod }},
	{Field: "spec.runnerPodTemplate", Support: SupportPods},
	{Field: "spec.runnerPodTemplate.spec.env", Support: SupportWorks},
	{Field: "spec.runnerPodTemplate.spec.envFrom", Support: SupportWorks},
	{Field: "spec.runnerPodTemplate.metadata", Support: SupportPods, uses: func(s *TerraformSpec) bool {
		t := s.RunnerPodTemplate
		return t != nil && len(t.Metadata.Labels)+len(t.Metadata.Annotations) > 0
	}},
	{Field: "spec.runnerPodTemplate.spec.image", Support: SupportPods, Note: "The program and its version are chosen with spec.tool.",
		uses: usesPod(func(p *RunnerPodSpec) bool { return p.Image != "" })},
	{Field: "spec.runnerPodTemplate.spec.nodeSelector", Support: SupportPods, uses: usesPod(func(p *RunnerPodSpec) bool { return len(p.NodeSelector) > 0 })},
	{Field: "spec.runnerPodTemplate.spec.affinity", Support: SupportPods, uses: usesPod(func(p *RunnerPodSpec) bool { return p.Affinity != nil })},
	{Field: "spec.runnerPodTemplate.spec.tolerations", Support: SupportPods, uses: usesPod(func(p *RunnerPodSpec) bool { return len(p.Tolerations) > 0 })},
	{Field: "spec.runnerPodTemplate.spec.volumeMounts", Support: SupportPods, Note: "Files from Secrets come with spec.fileMappings.",
		uses: usesPod(func(p *RunnerPodSpec) bool { return len(p.VolumeMounts) > 0 })},
	{Field: "spec.runnerPodTemplate.spec.volumes", Support: SupportPods, Note: "Files from Secrets come with spec.fileMappings.",
		uses: usesPod(func(p *RunnerPodSpec) bool { return len(p.Volumes) > 0 })},
	{Field: "spec.runnerPodTemplate.spec.initContainers", Support: SupportPods, uses: usesPod(func(p *RunnerPodSpec) bool { return len(p.InitContainers) > 0 })},
	{Field: "spec.runnerPodTemplate.spec.hostAliases", Support: SupportPods, uses: usesPod(func(p *RunnerPodSpec) bool { return len(p.HostAliases) > 0 })},
	{Field: "spec.runnerPodTemplate.spec.priorityClassName", Support: SupportPods, uses: usesPod(func(p *RunnerPodSpec) bool { return p.PriorityClassName != "" })},
	{Field: "spec.runnerPodTemplate.spec.securityContext", Support: SupportPods, uses: usesPod(func(p *RunnerPodSpec) bool { return p.SecurityContext != nil })},
	{Field: "spec.runnerPodTemplate.spec.resources", Support: SupportPods, uses: usesPod(func(p *RunnerPodSpec) bool { return p.Resources != nil })},
}

// usesPod checks the runner Pod settings of a spec.
func usesPod(uses func(*RunnerPodSpec) bool) func(*TerraformSpec) bool {
	return func(s *TerraformSpec) bool { return s.RunnerPodTemplate != nil && uses(&s.RunnerPodTemplate.Spec) }
}

// SupportOf returns the entry of a field such as spec.interval, or of its closest parent.
func SupportOf(field string) FieldSupport {
	found := FieldSupport{Field: field, Support: SupportWorks}
	length := -1
	for _, limit := range limits {
		if field != limit.Field && !strings.HasPrefix(field, limit.Field+".") && !strings.HasPrefix(field, limit.Field+"[") {
			continue
		}
		if len(limit.Field) > length {
			found, length = limit, len(limit.Field)
		}
	}
	return found
}

// Unsupported lists the used fields of a spec with the given support, in the table's order.
func (s *TerraformSpec) Unsupported(support Support) []FieldSupport {
	var used []FieldSupport
	for _, limit := range limits {
		if limit.Support == support && limit.uses != nil && limit.uses(s) {
			used = append(used, limit)
		}
	}
	return used
}
