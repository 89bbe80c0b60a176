/** What the calls of a run took, by role. Unknown stays unknown: it never becomes 0. */
import type { LedgerRow } from '../run/types';

export interface Receipt {
  role: string;
  calls: number;
  attempts: number;
  input: number | null;
  output: number | null;
  seconds: number;
  cost: number | null;
  currency: string | null;
  /** Attempts that may have been charged although their usage never arrived. */
  uncertain: number;
}

function sum(values: (number | null)[]): number | null {
  return values.reduce((total, value) => (total === null || value === null ? null : total + value), 0 as number | null);
}

export function receipts(ledger: LedgerRow[]): Receipt[] {
  const roles = [...new Set(ledger.map(row => row.role))];
  return roles.map(role => {
    const rows = ledger.filter(row => row.role === role);
    const currencies = new Set(rows.map(row => row.currency));
    const isOneCurrency = currencies.size === 1;
    return {
      role,
      calls: new Set(rows.map(row => row.call)).size,
      attempts: rows.length,
      input: sum(rows.map(row => row.input_tokens)),
      output: sum(rows.map(row => row.output_tokens)),
      seconds: rows.reduce((total, row) => total + row.seconds, 0),
      cost: isOneCurrency ? sum(rows.map(row => row.cost)) : null,
      currency: isOneCurrency ? (rows[0]?.currency ?? null) : null,
      uncertain: rows.filter(row => row.cost_uncertain).length
    };
  });
}
