// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// reads are the outputs of earlier phases that the modules of a phase read by the standard interface.
var reads = map[yubav1.PlatformPhaseName][]string{
	yubav1.PhaseMachines:   {"network/network"},
	yubav1.PhaseKubernetes: {"machines/machines"},
}

// ofProvider are the phases that a library has for each provider.
var ofProvider = []yubav1.PlatformPhaseName{yubav1.PhasePreflight, yubav1.PhaseNetwork, yubav1.PhaseMachines, yubav1.PhaseDNS}

// withCredentials are the phases whose modules get the credentials of the region's provider.
var withCredentials = []yubav1.PlatformPhaseName{yubav1.PhasePreflight, yubav1.PhaseNetwork, yubav1.PhaseMachines}

// inCluster are the phases whose modules need the kubeconfig of the cluster.
var inCluster = []yubav1.PlatformPhaseName{yubav1.PhaseKubernetes, yubav1.PhaseGitOps, yubav1.PhaseComponents}

// fill writes the spec of a phase.
func (r *region) fill(s *Step) {
	changed := phaseOf(&r.platform.Spec, s.Phase)
	provider := r.spec.Provider
	if s.Phase == yubav1.PhaseDNS {
		provider = r.platform.Spec.Domain.Provider
	}
	module := changed.Module
	if module == nil {
		module = &yubav1.PlatformModule{Path: string(s.Phase)}
		if slices.Contains(ofProvider, s.Phase) {
			module.Path = provider + "/" + string(s.Phase)
		}
		module.Path = path.Join(r.platform.Spec.Library.Path, module.Path)
	}
	values := r.standard(s)
	overlay(values, r.spec.Variables)
	overlay(values, changed.Variables)
	r.write(s, module, values, changed.VariablesFrom, changed.Approval)
	if domain := r.platform.Spec.Domain; s.Phase == yubav1.PhaseDNS {
		switch {
		case domain.CredentialsRef != nil:
			s.Spec.EnvFrom = envFrom(domain.CredentialsRef)
		case r.spec.CredentialsRef != nil && domain.Provider == r.spec.Provider:
			s.Spec.EnvFrom = envFrom(r.spec.CredentialsRef)
		}
	}
	if s.Phase == yubav1.PhasePreflight {
		// It can never make anything, whatever its module has: that is what makes it safe to try first.
		s.Spec.ApprovePlan, s.Spec.PlanOnly, s.Spec.WriteOutputsToSecret = "", true, nil
	}
}

// fillComponent writes the spec of a component.
func (r *region) fillComponent(s *Step, c *yubav1.PlatformComponent) {
	module := c.Module
	if module == nil {
		module = &yubav1.PlatformModule{Path: path.Join(r.platform.Spec.Library.Path, c.Name)}
	}
	values := r.standard(s)
	overlay(values, r.spec.Variables)
	overlay(values, c.Variables)
	r.write(s, module, values, c.VariablesFrom, c.Approval)
}

// write writes the spec of a step.
func (r *region) write(s *Step, m *yubav1.PlatformModule, values map[string]any, from []meta.LocalObjectReference, approval yubav1.PlatformApproval) {
	p := &r.platform.Spec
	s.Spec = infrav1.TerraformSpec{
		ApprovePlan: approvePlan(cmp.Or(approval, p.Approval)), Interval: p.Interval, RetryInterval: &metav1.Duration{Duration: p.RetryInterval.Duration},
		RetryStrategy: infrav1.ExponentialBackoff, MaxRetryInterval: &metav1.Duration{Duration: 10 * p.RetryInterval.Duration},
		Suspend: p.Suspend, EnableInventory: true,
		WriteOutputsToSecret: &infrav1.WriteOutputsToSecretSpec{Name: OutputsSecret(s.Stack)},
	}
	// The others are for the cluster, and may come from anywhere.
	if r.spec.CredentialsRef != nil && slices.Contains(withCredentials, s.Phase) {
		s.Spec.EnvFrom = envFrom(r.spec.CredentialsRef)
	}
	for _, id := range s.Needs {
		_, step, _ := strings.Cut(id, "/")
		s.Spec.DependsOn = append(s.Spec.DependsOn, meta.NamespacedObjectReference{Name: r.stack(step)})
	}
	r.source(s, m, values)
	takes := takesOf(m)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if takes(name) {
			s.Spec.Vars = append(s.Spec.Vars, infrav1.Variable{Name: name, Value: encoded(values[name])})
		}
	}
	r.secrets(s, takes)
	list := m.Reads
	if list == nil {
		list = reads[s.Phase]
	}
	for _, output := range list {
		phase, key, _ := strings.Cut(output, "/")
		_, name, renamed := strings.Cut(key, ":")
		if !hasPhase(p, yubav1.PlatformPhaseName(phase)) || !renamed && m.Reads == nil && !takes(key) || renamed && !takes(name) {
			continue
		}
		s.Spec.VarsFrom = append(s.Spec.VarsFrom, infrav1.VarsReference{Kind: "Secret", Name: OutputsSecret(r.stack(phase)), VarsKeys: []string{key}})
	}
	for _, ref := range from {
		s.Spec.VarsFrom = append(s.Spec.VarsFrom, infrav1.VarsReference{Kind: "Secret", Name: ref.Name})
	}
}

// secrets adds what a module reads from the region's Secrets.
func (r *region) secrets(s *Step, takes func(string) bool) {
	if s.Phase == yubav1.PhaseMachines {
		if takes("join_token") {
			s.Spec.Vars = append(s.Spec.Vars, fromSecret("join_token", r.secret(TokenSecret), "join_token", false))
		}
		if takes("call_home_token") && r.given.CallHome != nil {
			s.Spec.Vars = append(s.Spec.Vars, fromSecret("call_home_token", r.secret(TokenSecret), "call_home_token", true))
		}
	}
	if slices.Contains(inCluster, s.Phase) && takes("kubeconfig") && (r.given.CallHome != nil || r.given.Kubeconfigs[r.spec.Name]) {
		s.Spec.Vars = append(s.Spec.Vars, fromSecret("kubeconfig", r.secret(KubeconfigSecret), "value", false))
	}
}

// standard are the variables of the standard interface.
func (r *region) standard(s *Step) map[string]any {
	p := r.platform
	values := map[string]any{
		"platform": p.Name + "-" + r.spec.Name, "region": cmp.Or(r.spec.Location, r.spec.Name),
		"labels": map[string]string{"platform": p.Name, "region": r.spec.Name, "organization": p.Spec.Organization.Name},
	}
	if s.Phase == yubav1.PhaseComponents || s.Phase == yubav1.PhaseGitOps || s.Phase == yubav1.PhaseDNS || s.Phase == yubav1.PhaseMachines {
		values["domain"] = r.domain()
	}
	switch s.Phase {
	case yubav1.PhaseMachines:
		if p.Spec.AirGap {
			values["air_gap"] = true
		}
		values["control_planes"], values["workers"] = max(r.spec.ControlPlanes, 1), r.spec.Workers
		if r.spec.Size != "" {
			values["size"], values["worker_size"] = r.spec.Size, cmp.Or(r.spec.WorkerSize, r.spec.Size)
		}
		if home := r.given.CallHome; home != nil {
			values["call_home"] = map[string]string{"url": home.URL(p.Namespace, r.secret(KubeconfigSecret)), "ca": home.CA}
		}
	case yubav1.PhaseDNS:
		machines, known := r.given.Machines[r.spec.Name]
		if !known && hasPhase(&p.Spec, yubav1.PhaseMachines) {
			s.Lacks = "the addresses of the machines"
		}
		values["addresses"] = append([]string{}, machines.Addresses...)
	}
	return values
}

// domain is the DNS name of the region: that of the platform in the first region, and one below it in others.
func (r *region) domain() string { return DomainOf(r.platform, r.spec.Name) }

// DomainOf is the DNS name of a region of a platform.
func DomainOf(p *yubav1.Platform, region string) string {
	if region == p.Spec.Regions[0].Name {
		return p.Spec.Domain.FQDN
	}
	return region + "." + p.Spec.Domain.FQDN
}

func approvePlan(a yubav1.PlatformApproval) string {
	switch a {
	case yubav1.ApprovalAuto:
		return infrav1.ApprovePlanAuto
	case yubav1.ApprovalPolicy:
		return infrav1.ApprovePlanPolicy
	}
	return infrav1.ApprovePlanManual
}

func envFrom(ref *meta.LocalObjectReference) []corev1.EnvFromSource {
	return []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: ref.Name}}}}
}

func fromSecret(variable, secret, key string, optional bool) infrav1.Variable {
	selector := &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key}
	if optional {
		selector.Optional = &optional
	}
	return infrav1.Variable{Name: variable, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: selector}}
}

func overlay(values map[string]any, more map[string]apiextensionsv1.JSON) {
	for name, value := range more {
		values[name] = value
	}
}

// encoded is a value as JSON. Values are strings, numbers, lists and maps of strings, and JSON.
func encoded(value any) *apiextensionsv1.JSON {
	if raw, ok := value.(apiextensionsv1.JSON); ok {
		return &raw
	}
	data, err := json.Marshal(value)
	if err != nil {
		data = []byte("null")
	}
	return &apiextensionsv1.JSON{Raw: data}
}
