// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// The operators of conditions.
const (
	in           = "In"
	notIn        = "NotIn"
	exists       = "Exists"
	doesNotExist = "DoesNotExist"
)

// wrong says what is wrong with a condition; empty if it is valid. A condition without values would
// exclude all rows or none, which cannot be meant.
func wrong(c tenantv1.RowCondition) string {
	switch {
	case c.Column == "" || strings.ContainsRune(c.Column, 0):
		return "a condition in spec.source.where does not name a column"
	case c.Operator == exists || c.Operator == doesNotExist:
		if len(c.Values) > 0 {
			return fmt.Sprintf("the condition for column %s has values, which the operator %s does not use", quoted(c.Column), c.Operator)
		}
	case c.Operator != in && c.Operator != notIn:
		return fmt.Sprintf("the condition for column %s has the operator %s; use In, NotIn, Exists or DoesNotExist", quoted(c.Column), quoted(c.Operator))
	case len(c.Values) == 0:
		return fmt.Sprintf("the condition for column %s has no values", quoted(c.Column))
	}
	for _, value := range c.Values {
		// PostgreSQL does not support it; refuse it for all sources.
		if strings.ContainsRune(value, 0) {
			return fmt.Sprintf("the condition for column %s has a value with a NUL character", quoted(c.Column))
		}
	}
	return ""
}

// holds reports whether a value meets a condition. Statements for databases mean the same.
func holds(c tenantv1.RowCondition, value sql.NullString) bool {
	switch c.Operator {
	case exists:
		return value.Valid
	case doesNotExist:
		return !value.Valid
	case in:
		return value.Valid && slices.Contains(c.Values, legible(value.String))
	}
	// NULL equals none of the values.
	return !value.Valid || !slices.Contains(c.Values, legible(value.String))
}
