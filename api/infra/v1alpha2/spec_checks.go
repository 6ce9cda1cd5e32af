// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HealthCheck is something that must answer after an apply.
type HealthCheck struct {
	// The check's name, for messages.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// How to check: "tcp" connects to address, "http" gets url.
	// +kubebuilder:validation:Enum=tcp;http
	// +required
	Type string `json:"type"`

	// What an http check gets; a status of 200 to 399 is healthy. May use outputs, as in "https://${{.host}}/healthz".
	// +optional
	URL string `json:"url,omitempty"`

	// What a tcp check connects to. May use outputs, as in "${{.host}}:5432".
	// +optional
	Address string `json:"address,omitempty"`

	// How long the check may take.
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

// Webhook is a service that is asked about each plan.
type Webhook struct {
	// When the service is asked.
	// +kubebuilder:validation:Enum=post-planning
	// +kubebuilder:default:=post-planning
	// +required
	Stage string `json:"stage"`

	// Whether the service is asked at all.
	// +kubebuilder:default:=true
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Where the service is.
	// +required
	URL string `json:"url"`

	// What the service gets: SpecAndPlan, SpecOnly or PlanOnly.
	// +kubebuilder:default:=SpecAndPlan
	// +optional
	PayloadType string `json:"payloadType,omitempty"`

	// The text of the error when the plan is refused, as a template over the reply.
	// +optional
	ErrorMessageTemplate string `json:"errorMessageTemplate,omitempty"`

	// Whether the reply lets the plan pass, as a template that gives "true", "yes", "false" or "no", such as
	// "${{ .passed }}".
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
