// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// maxExpressions limits a list of expressions of an alert, maxExpression the bytes of each.
const (
	maxExpressions = 100
	maxExpression  = 1000
)

// wants reports whether an alert matches an event.
func wants(alert *notificationv1beta3.Alert, e *Event, crossNamespace bool) bool {
	if alert.Spec.Suspend || !alert.DeletionTimestamp.IsZero() {
		return false
	}
	if alert.Spec.EventSeverity == eventv1.EventSeverityError && e.Severity != eventv1.EventSeverityError {
		return false
	}
	inside := e.InvolvedObject.Namespace == alert.Namespace || e.InvolvedObject.Namespace == "" && slices.Contains(e.Concerns, alert.Namespace)
	if !inside && !crossNamespace {
		return false
	}
	return named(alert, e) &&
		(len(alert.Spec.InclusionList) == 0 || matches(alert.Spec.InclusionList, e.Message)) &&
		!matches(alert.Spec.ExclusionList, e.Message)
}

// named reports whether one of an alert's sources is the event's object.
func named(alert *notificationv1beta3.Alert, e *Event) bool {
	object := e.InvolvedObject
	return slices.ContainsFunc(alert.Spec.EventSources, func(source notificationv1.CrossNamespaceObjectReference) bool {
		return source.Kind == object.Kind && (source.Name == "*" || source.Name == object.Name) &&
			(object.Namespace == "" || object.Namespace == cmp.Or(source.Namespace, alert.Namespace)) &&
			labels.SelectorFromSet(source.MatchLabels).Matches(labels.Set(e.Labels))
	})
}

// matches reports whether one of the expressions matches. Invalid ones do not.
func matches(expressions []string, message string) bool {
	if len(expressions) > maxExpressions {
		expressions = expressions[:maxExpressions]
	}
	for _, text := range expressions {
		if len(text) > maxExpression {
			continue
		}
		if e, err := regexp.Compile(text); err == nil && e.MatchString(message) {
			return true
		}
	}
	return false
}

// checkExpressions returns the problems of a list.
func checkExpressions(field string, expressions []string) (problems []string) {
	if len(expressions) > maxExpressions {
		problems = append(problems, fmt.Sprintf("%s has %d expressions: only the first %d are used", field, len(expressions), maxExpressions))
		expressions = expressions[:maxExpressions]
	}
	for i, text := range expressions {
		if len(text) > maxExpression {
			problems = append(problems, fmt.Sprintf("%s[%d] has %d bytes, more than the %d allowed: it is not used", field, i, len(text), maxExpression))
		} else if _, err := regexp.Compile(text); err != nil {
			problems = append(problems, fmt.Sprintf("%s[%d] is not a valid regular expression and matches nothing: %v", field, i, err))
		}
	}
	return problems
}

// enrich returns the event with metadata of the object's annotations, of the alert, and of the
// object's controller; later ones override earlier ones.
func enrich(e eventv1.Event, alert *notificationv1beta3.Alert) eventv1.Event {
	all := map[string]string{}
	take := func(prefix string) {
		for name, value := range e.Metadata {
			if key, ok := strings.CutPrefix(name, prefix); ok && key != "" {
				all[key] = value
			}
		}
	}
	take(eventv1.Group + "/")
	maps.Copy(all, alert.Spec.EventMetadata)
	if alert.Spec.Summary != "" {
		all["summary"] = alert.Spec.Summary
	}
	take(e.InvolvedObject.GroupVersionKind().Group + "/")
	delete(all, eventv1.MetaTokenKey)
	delete(all, eventv1.MetaCommitStatusKey)
	e.Metadata = bounded(all)
	return e
}

// bounded keeps the first entries by name, shortened: an object's annotations may be large.
func bounded(all map[string]string) map[string]string {
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names[min(len(names), maxMetadata):] {
		delete(all, name)
	}
	for name, value := range all {
		all[name] = shorten.Fit(value, maxValue)
	}
	return all
}

// eventKey is equal for equal events.
func eventKey(e eventv1.Event) string {
	sum := sha256.New()
	for _, part := range []string{e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.Reason, e.Message,
		metadata(e, eventv1.MetaOriginRevisionKey), metadata(e, eventv1.MetaRevisionKey), metadata(e, eventv1.MetaTokenKey)} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
