package manifest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseExpressionReadsTheGrammar(t *testing.T) {
	term := func(text, kind, group, namespace, name, condition, status string) Term {
		return Term{Kind: kind, Group: group, Namespace: namespace, Name: name, Type: condition, Status: status, text: text}
	}
	applied := term("Applied", "", "", "", "", "Applied", "True")
	available := term("Available=True", "", "", "", "", "Available", "True")
	for text, want := range map[string][]Term{
		"Applied":                              {applied},
		"  Applied\t\n":                        {applied},
		"Applied AND Available=True":           {applied, available},
		"Applied && Available=True":            {applied, available},
		"Applied AND Applied\r\nAND Applied":   {applied, applied, applied},
		"Available=True":                       {available},
		"Progressing=False":                    {term("Progressing=False", "", "", "", "", "Progressing", "False")},
		"Degraded=Unknown":                     {term("Degraded=Unknown", "", "", "", "", "Degraded", "Unknown")},
		"Complete":                             {term("Complete", "", "", "", "", "Complete", "True")},
		"Deleted":                              {term("Deleted", "", "", "", "", "Deleted", "True")},
		"Job:Complete":                         {term("Job:Complete", "Job", "", "", "", "Complete", "True")},
		"Job.batch:Complete=False":             {term("Job.batch:Complete=False", "Job", "batch", "", "", "Complete", "False")},
		"Job/prepare:Complete":                 {term("Job/prepare:Complete", "Job", "", "", "prepare", "Complete", "True")},
		"Job/team/prepare:Complete":            {term("Job/team/prepare:Complete", "Job", "", "team", "prepare", "Complete", "True")},
		"Route.route.openshift.io/a/b:Ready":   {term("Route.route.openshift.io/a/b:Ready", "Route", "route.openshift.io", "a", "b", "Ready", "True")},
		"CronJob/a.b-c:example.test/Some-Type": {term("CronJob/a.b-c:example.test/Some-Type", "CronJob", "", "", "a.b-c", "example.test/Some-Type", "True")},
		"ClusterRole/system:reader:Applied":    {term("ClusterRole/system:reader:Applied", "ClusterRole", "", "", "system:reader", "Applied", "True")},
		"Namespace/team:Applied AND Applied":   {term("Namespace/team:Applied", "Namespace", "", "", "team", "Applied", "True"), applied},
	} {
		t.Run(text, func(t *testing.T) {
			expression, err := ParseExpression(text)
			require.NoError(t, err)
			assert.Equal(t, want, expression.Terms)
		})
	}
}

func TestParseExpressionPointsAtTheProblem(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "position 1: a condition is missing here",
		"   ":                        "position 4: a condition is missing here",
		"AND":                        "position 1: a condition is missing before AND",
		"Applied AND":                "position 12: a condition is missing here",
		"Applied &&  ":               "position 13: a condition is missing here",
		"Applied AND && Available":   "position 13: a condition is missing before &&",
		"Applied Available":          "position 9: join conditions with AND",
		"Applied and Available":      "position 9: join conditions with AND",
		"NOT Applied":                "position 1: NOT is not supported, conditions are joined by AND",
		"Applied AND ( Available )":  "position 13: ( is not supported",
		"Apllied":                    `position 1: condition "Apllied" of the work: give one of Applied, Available, Progressing, Degraded, Complete, Deleted, or Kind/name:Condition`,
		"available":                  `condition "available" of the work: give one of`,
		"NotReady":                   `condition "NotReady" of the work`,
		"Applied AND Ready":          `position 13: condition "Ready" of the work`,
		"Applied&&Available":         `condition "Applied&&Available" of the work`,
		"Available=true":             `status "true": give True, False or Unknown`,
		"Available=":                 `status "": give True, False or Unknown`,
		"Available==True":            `status "=True"`,
		"Available=True=True":        `status "True=True"`,
		"=True":                      `condition "" of the work`,
		":Applied":                   `kind "": give Kind, Kind/name or Kind/namespace/name`,
		"job:Complete":               `kind "job": give Kind`,
		"Job.:Complete":              `kind "Job.": give Kind`,
		"Job.Batch:Complete":         `kind "Job.Batch"`,
		"Job:":                       `condition "": not a condition type`,
		"Job:Com plete":              `position 9: join conditions with AND`,
		"Job:9":                      `condition "9": not a condition type`,
		"Job/:Complete":              `name "" in "Job/": not an object's name`,
		"Job//a:Complete":            `name "" in "Job//a"`,
		"Job/a/b/c:Complete":         `"Job/a/b/c": give Kind, Kind/name or Kind/namespace/name`,
		"Job/-a:Complete":            `name "-a" in "Job/-a"`,
		"Job/a:b:Complete=Maybe":     `status "Maybe"`,
		"Verfügbar":                  `condition "Verfügbar" of the work`,
		"Applied\u00a0AND Available": "position 1: condition",
		"Job/a@ready >= 1":           `position 1: condition "Job/a@ready" of the work`,
	} {
		t.Run(text, func(t *testing.T) {
			expression, err := ParseExpression(text)
			require.Error(t, err)
			assert.Empty(t, expression.Terms)
			assert.Contains(t, err.Error(), want)
			assert.Contains(t, err.Error(), "wait condition ")
		})
	}
}

func FuzzParseExpression(f *testing.F) {
	for _, text := range []string{"", "Applied", "Applied AND Available=False", "Job.batch/team/a:Complete=Unknown && Applied", "ClusterRole/a:b:Applied", "( NOT", "A:B=C", "\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		expression, err := ParseExpression(text)
		if err != nil {
			return
		}
		// What was read can be written down and read again.
		again := ""
		for index, term := range expression.Terms {
			if index > 0 {
				again += " AND "
			}
			again += term.String()
			assert.Contains(t, []string{"True", "False", "Unknown"}, term.Status)
			assert.NotEmpty(t, term.Type)
		}
		repeated, err := ParseExpression(again)
		require.NoError(t, err)
		assert.Equal(t, expression, repeated)
	})
}
