// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"strings"
)

// Support says what becomes of a field of the spec.
type Support string

// What becomes of fields.
const (
	// SupportWorks: the field does what its comment says.
	SupportWorks Support = "works"
	// SupportPods: the field says something about the Pods of runs. Where runs are processes there is nothing that it
	// could change; a stack that has it runs, with a warning.
	SupportPods Support = "only for Pods"
	// SupportKept: there is nothing for the field to change. It is kept for the manifests that have it, without a warning.
	SupportKept Support = "kept, without effect"
	// SupportIgnored: the field has no effect yet, and does no harm by it. A stack that has it runs, with a warning.
	SupportIgnored Support = "not yet: ignored with a warning"
	// SupportRefused: the field has no effect yet, and leaving it out could do harm. A stack that has it does not run.
	SupportRefused Support = "not yet: the stack does not run"
)

// FieldSupport says what becomes of one field of the spec and of all below it.
//
// +kubebuilder:object:generate=false
type FieldSupport struct {
	// Field is the field's path, such as spec.runnerPodTemplate.spec.image.
	Field string
	// Support is what becomes of it.
	Support Support
	// When restricts that to some values of the field, in words that fit behind its name. Empty means all.
	When string
	// Note says what there is instead, for the reference.
	Note string

	// uses tells whether a spec has the field with a value that matters; nil where nobody asks.
	uses func(*TerraformSpec) bool
}

// Name is the field's path and, if there is one, the restriction.
func (f FieldSupport) Name() string {
	if f.When == "" {
		return f.Field
	}
	return f.Field + " " + f.When
}

// limits are the fields that do not simply work: the controllers, the warnings in stacks' status, "yuba adopt" and the
// reference of fields all read this one table. A field that is not here works. An entry is also about everything below
// its field that has no entry itself.
var limits = []FieldSupport{
	{Field: "spec.branchPlanner", Support: SupportIgnored, Note: "Yuba has no branch planner yet.",
		uses: func(s *TerraformSpec) bool { return s.BranchPlanner != nil }},

	{Field: "spec.backendConfig.inClusterConfig", Support: SupportKept},
	{Field: "spec.enterprise", Support: SupportKept},

	{Field: "spec.serviceAccountName", Support: SupportPods,
		uses: func(s *TerraformSpec) bool {
			return s.ServiceAccountName != "" && s.ServiceAccountName != DefaultServiceAccount
		}},
	{Field: "spec.alwaysCleanupRunnerPod", Support: SupportPods,
		uses: func(s *TerraformSpec) bool { return !boolOr(s.AlwaysCleanupRunnerPod, true) }},
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

// usesPod looks at the settings of the Pods of a spec that has some.
func usesPod(uses func(*RunnerPodSpec) bool) func(*TerraformSpec) bool {
	return func(s *TerraformSpec) bool { return s.RunnerPodTemplate != nil && uses(&s.RunnerPodTemplate.Spec) }
}

// SupportOf says what becomes of a field, given by its path such as spec.interval. The entry of the longest path counts
// that the field is, or is below.
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

// Unsupported lists the fields that a spec uses and that have the given support, in the table's order.
func (s *TerraformSpec) Unsupported(support Support) []FieldSupport {
	var used []FieldSupport
	for _, limit := range limits {
		if limit.Support == support && limit.uses != nil && limit.uses(s) {
			used = append(used, limit)
		}
	}
	return used
}
