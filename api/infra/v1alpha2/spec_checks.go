// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HealthCheck is an endpoint that must respond after an apply.
type HealthCheck struct {
	// The name of the check, for messages.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// The type of check: "tcp" connects to address, "http" sends a GET request to url.
	// +kubebuilder:validation:Enum=tcp;http
	// +required
	Type string `json:"type"`

	// The URL of an http check. A status of 200 to 399 is healthy. Can use outputs, as in
	// "https://${{.host}}/healthz".
	// +optional
	URL string `json:"url,omitempty"`

	// The address of a tcp check. Can use outputs, as in "${{.host}}:5432".
	// +optional
	Address string `json:"address,omitempty"`

	// The timeout of the check.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^(([0-9]{1,6}(\.[0-9]+)?h)|([0-9]{1,7}(\.[0-9]+)?m)|([0-9]{1,9}(\.[0-9]+)?(s|ms|us|µs|ns)))+$|^0$`
	// +kubebuilder:default:="20s"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// The types of health checks.
const (
	HealthCheckTCP  = "tcp"
	HealthCheckHTTP = "http"
)

// Webhook is a service that reviews each plan.
type Webhook struct {
	// The stage at which Yuba calls the service.
	// +kubebuilder:validation:Enum=post-planning
	// +kubebuilder:default:=post-planning
	// +required
	Stage string `json:"stage"`

	// Whether Yuba calls the service. Defaults to true.
	// +kubebuilder:default:=true
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// The URL of the service.
	// +required
	URL string `json:"url"`

	// The content of the request: SpecAndPlan, SpecOnly or PlanOnly.
	// +kubebuilder:default:=SpecAndPlan
	// +optional
	PayloadType string `json:"payloadType,omitempty"`

	// The error message when the service refuses the plan, as a template over the reply.
	// +optional
	ErrorMessageTemplate string `json:"errorMessageTemplate,omitempty"`

	// A template over the reply that says whether the plan passes. It must render as "true", "yes",
	// "false" or "no", such as "${{ .passed }}".
	// +required
	TestExpression string `json:"testExpression"`
}

// Stages and payloads of webhooks.
const (
	WebhookPostPlanning       = "post-planning"
	WebhookPayloadSpecAndPlan = "SpecAndPlan"
	WebhookPayloadSpecOnly    = "SpecOnly"
	WebhookPayloadPlanOnly    = "PlanOnly"
)
